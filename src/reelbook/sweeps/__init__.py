"""Sweeps: many runs planned from one input, priced before anything is sent."""
