"""Small models, and a solver and a helper that share one."""

from shared_policy import *  # noqa: F403
from small_models import *  # noqa: F403
