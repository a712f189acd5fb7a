"""The embedded service: the addresses of a hosted service, answered on this machine."""
