"""Downloads of result files: resumed, validated, and moved into place only when complete."""
