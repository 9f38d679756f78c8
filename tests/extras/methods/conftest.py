"""Small models, a solver and a helper that share one, and a game worked out on paper."""

from relay_game import *  # noqa: F403
from shared_policy import *  # noqa: F403
from small_models import *  # noqa: F403
