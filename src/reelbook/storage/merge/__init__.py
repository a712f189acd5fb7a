"""The runs and files of another library, merged into this one."""
