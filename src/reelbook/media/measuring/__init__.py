"""How each measure is taken: one module per kind of question that is asked of a file."""
