"""The service's specification as typed Python: inputs, outputs and prices. Nothing here does I/O."""
