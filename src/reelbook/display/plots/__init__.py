"""Plots of the columns of a table: one point for each run, drawn by matplotlib, with the run's poster and player on the page."""
