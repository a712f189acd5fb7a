"""Sweeping a form: axes, plan, price and jobs."""
