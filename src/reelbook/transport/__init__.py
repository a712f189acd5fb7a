"""HTTP communication with a service: calls, retries, responses, polling and downloads."""
