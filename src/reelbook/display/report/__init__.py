"""The page that one sends to a colleague, by its parts."""
