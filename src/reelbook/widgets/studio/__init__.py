"""The studio: a form for any model, a gallery, and the cost."""
