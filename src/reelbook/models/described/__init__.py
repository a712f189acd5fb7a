"""A description of any model, read into a form that judges values as its schema does."""
