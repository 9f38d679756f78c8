"""A solver and a helper that share one policy; see `tests/support/shared_policy.py`."""

from shared_policy import *  # noqa: F403
