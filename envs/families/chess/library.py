"""python-chess, or words about where it comes from.

It is licensed under the GPL (version 3 or later) and comes with the extra `chess` only.
"""

from __future__ import annotations

try:
    import chess
except ImportError as error:
    raise ImportError(
        "the environment 'checkmate' needs python-chess (GPL-3.0-or-later), which comes with the"
        " extra 'chess': pip install 'laconic[chess]'"
    ) from error

__all__ = ["chess"]
