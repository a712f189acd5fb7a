"""Local media files: frames, previews, metadata and measurements."""
