"""Tables of runs as HTML."""
