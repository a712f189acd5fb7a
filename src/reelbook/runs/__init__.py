"""One run, from an input to its files: submitted, followed, awaited, cancelled."""
