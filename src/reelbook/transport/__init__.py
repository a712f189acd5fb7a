"""One HTTP conversation with a service."""
