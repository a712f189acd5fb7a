"""The engines that make media on this machine, one module per way of making it."""
