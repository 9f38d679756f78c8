"""The price of a token over training, and the guard against silence collapse."""
