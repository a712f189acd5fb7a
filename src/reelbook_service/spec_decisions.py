"""The limits of the service, which the specification leaves open; choices.toml says what else it does."""

from __future__ import annotations

MIB = 1024 * 1024

MAX_BODY_BYTES = 32 * MIB
MAX_COMMAS = 250_000
MAX_UPLOAD_BYTES = 50_000_000
MAX_SOURCE_BYTES = 50_000_000
MAX_DATA_URI_BYTES = 24_000_000
MAX_WAITING = 10_000
MAX_ATTEMPTS = 3
FETCH_SECONDS = 30.0
RUN_SECONDS = 900.0
CANCEL_SECONDS = 10.0
"""How long the caller of a cancellation waits for the lane; it is carried on after that."""
BODY_SECONDS = 120.0
IDEMPOTENCY_SECONDS = 24 * 3600.0
RETENTION_SECONDS = 7 * 24 * 3600.0
DEFAULT_GRANT = 1_000_000
RETRY_AFTER_SECONDS = 5

FEATURES = ("idempotency", "uploads", "estimate")
"""What this service can do beyond the specification."""
