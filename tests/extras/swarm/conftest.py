"""Small models; see `tests/support/small_models.py`."""

from small_models import *  # noqa: F403
