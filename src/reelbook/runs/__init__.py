"""Submitting, following, awaiting and cancelling a run, from its input to its files."""
