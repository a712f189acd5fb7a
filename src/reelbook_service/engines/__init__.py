"""The engines that generate media on this machine, one module or package per model."""
