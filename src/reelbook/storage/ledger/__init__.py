"""The ledger: the SQLite record of what was asked, sent, charged and received."""
