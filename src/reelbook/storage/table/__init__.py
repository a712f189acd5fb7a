"""Build a DataFrame from rows of the ledger."""

INPUT_JSON = "input_json"
"""The column with the whole input as JSON, from which a row can be run again."""
