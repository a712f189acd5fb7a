"""The pictures of a form: chosen, previewed, and offered from earlier runs."""
