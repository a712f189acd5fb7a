"""Merge the runs and files of another library into this one."""
