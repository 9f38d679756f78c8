"""Mate-in-one positions: found by play and search, told in words, answered in any notation."""
