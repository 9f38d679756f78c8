"""Several processes that train together: what each knows of the others, how they are started."""
