"""Utilities for all other packages: background event loop, file locks, printable text, addresses."""
