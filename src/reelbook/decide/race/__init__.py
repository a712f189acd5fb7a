"""Races: the runs of a plan in rounds, chosen by what the earlier ones have shown."""
