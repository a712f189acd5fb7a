"""The library: the ledger of runs and the shelf of their files, as tables, search, export and maintenance."""
