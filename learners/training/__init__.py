"""One update of policies: sequences, log-probabilities, objective, optimiser steps."""
