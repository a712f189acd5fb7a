"""Reports: HTML pages about a table of runs, which work without a notebook."""
