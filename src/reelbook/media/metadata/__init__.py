"""Metadata in media files: read as untrusted input, and added without changing the pixels."""
