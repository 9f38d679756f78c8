"""Several processes that train together: how they are started, communicate and share weights."""
