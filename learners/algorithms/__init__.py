"""Learners: what is made of groups of episodes, one module a kind."""
