"""Measurements of media files, one module per kind of metric."""
