"""Sweeps: plans of many runs from one input, their execution, and their results."""
