"""Text drawn on pictures, in any script."""
