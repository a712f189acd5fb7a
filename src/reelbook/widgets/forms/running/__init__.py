"""Running a form: price, run, progress and history."""
