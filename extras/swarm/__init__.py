"""Share episodes between runs through a folder (`learner=swarm`)."""
