"""python-chess, or words about where it comes from.

It is licensed under the GPL (version 3 or later) and comes with the extra `chess` only.
"""

from __future__ import annotations

from laconic.envs.errors import install

try:
    import chess
except ImportError as error:
    raise ImportError(
        "the environment 'checkmate' needs python-chess (GPL-3.0-or-later), which comes with the"
        f" extra 'chess': {install('chess')}"
    ) from error

__all__ = ["chess"]
