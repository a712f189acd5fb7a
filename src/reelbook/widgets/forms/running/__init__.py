"""The runs of a form: price, start, progress and history."""
