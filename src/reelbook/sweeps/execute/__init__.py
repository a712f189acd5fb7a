"""Execution of a plan: order, budget, rate and progress."""
