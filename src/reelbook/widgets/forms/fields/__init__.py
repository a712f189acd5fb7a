"""The fields of a form: the tree that is drawn, and the draft that is edited."""
