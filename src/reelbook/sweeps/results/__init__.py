"""The results of a sweep: the table, its accessor, and what it cost."""
