"""The gateway: models of this service that are run by a service elsewhere, on one key."""
