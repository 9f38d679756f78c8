"""Made-up runs, and a game that can be worked out on paper; see `tests/support`."""

from made_runs import build_run  # noqa: F401
from relay_game import *  # noqa: F403
