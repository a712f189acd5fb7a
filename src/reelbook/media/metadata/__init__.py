"""Texts inside media files: read without trusting a byte of them, and added without touching what is shown."""
