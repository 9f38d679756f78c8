"""Playing episodes: the episode runner, and the collectors of groups."""
