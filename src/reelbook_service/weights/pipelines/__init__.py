"""The engines that run real weights; the only modules that import torch, and only a worker process imports them."""
