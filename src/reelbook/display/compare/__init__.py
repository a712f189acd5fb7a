"""Clips and pictures compared to the pixel: the viewer of `rb.compare`, and the differences of their frames."""
