"""Smart resize: one picture, recomposed for any number of sizes by geometry alone."""
