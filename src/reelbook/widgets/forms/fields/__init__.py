"""The fields of a form: the displayed tree, and the edited draft."""
