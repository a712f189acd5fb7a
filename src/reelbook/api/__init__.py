"""The public functions of the package: runs, sweeps, forms, tables and the library, with the current client."""
