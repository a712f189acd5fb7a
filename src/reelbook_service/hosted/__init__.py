"""The gateway: models of this service that are run by a paid service, on one key."""
