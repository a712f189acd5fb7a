"""Text drawn on pictures, in any script, with the fonts installed."""
