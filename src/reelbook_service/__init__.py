"""The embedded service, which implements the routes of a hosted service on this machine."""
