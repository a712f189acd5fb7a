"""The results of a sweep: the table of its runs, their files, metrics and costs."""
