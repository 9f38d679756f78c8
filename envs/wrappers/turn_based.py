"""The turn-based (AEC) view: agents act one after the other.

It is PettingZoo's own conversion. Rounds stay simultaneous underneath: actions are kept until the
last agent of a round has acted, and nobody observes before that what was said in it. An agent that
has ended is stepped once with None. Text passes through as it is, also where clients that expect
arrays do not; observations are dicts, so `api_test` holds, with warnings that text is no array.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec


def turn_based(env: ParallelEnv[str, Any, Any]) -> AECEnv[str, Any, Any]:
    """Any parallel environment for clients of the turn-based interface; it keeps `state_space`."""
    converted: AECEnv[str, Any, Any] = parallel_to_aec(env)
    if hasattr(env, "state_space"):
        converted.state_space = env.state_space  # type: ignore[attr-defined]
    return converted
