"""Real weights on the devices of this machine: what is configured, checked and fetched; no module here imports torch."""
