"""The board of a class: one page for whoever teaches, behind a login of its own."""
