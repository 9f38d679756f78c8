"""A game that can be worked out on paper; see `tests/support/relay_game.py`."""

from relay_game import *  # noqa: F403
