"""Runs that learn from the episodes of other runs, shared through a folder (`learner=swarm`)."""
