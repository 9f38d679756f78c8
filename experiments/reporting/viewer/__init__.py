"""The episodes of a run folder in a terminal, while the run goes on or after it."""
