"""How the price of a token moves over training."""
