"""What was asked for and received, kept beside the notebooks that asked."""
