"""The ledger's rows as a DataFrame."""
