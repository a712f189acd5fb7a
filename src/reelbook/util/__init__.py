"""Utilities for all other packages: background event loop, interrupts, name hints, printable text, public addresses."""
