"""When the status of each run is polled, and the requests that do it."""
