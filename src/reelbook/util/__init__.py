"""Small tools that every other package may use: the background loop, interrupts, printable text."""
