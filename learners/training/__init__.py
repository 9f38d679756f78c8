"""One update of policies: sequences, log-probabilities, objective, optimizer steps."""
