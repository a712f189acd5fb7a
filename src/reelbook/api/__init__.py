"""What `rb.` offers: runs, sweeps, forms, tables and the library, with the current client behind them."""
