"""The service's specification as typed Python: what goes in, what comes out, what it costs. No input or output here."""
