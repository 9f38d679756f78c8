"""A run's policies as others get them: a folder with a model card, and the way to the hub."""
