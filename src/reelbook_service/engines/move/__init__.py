"""Image to video: a camera move over the picture, as the prompt describes."""
