"""Files of results: fetched, resumed, checked, and moved into place whole."""
