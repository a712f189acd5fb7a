"""Media on this machine: pixels and figures, no network."""
