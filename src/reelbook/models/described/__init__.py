"""Input classes built from OpenAPI descriptions, which validate values as their schemas do."""
