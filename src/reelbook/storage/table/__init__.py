"""Build a DataFrame from rows of the ledger."""
