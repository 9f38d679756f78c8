"""Who samples the replies of a team's policies: the process itself, or an inference engine."""
