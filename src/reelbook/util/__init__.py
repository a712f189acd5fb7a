"""Utilities for all other packages: the background event loop, interrupts, printable text."""
