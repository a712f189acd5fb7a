"""When the status of each run is asked for, and the requests that do it."""
