"""The sketch engine: text-to-video painted from words on this machine."""
