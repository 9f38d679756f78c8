"""Mate-in-one positions: found by playing and searching, told in words, answered in any notation.

Everything here needs python-chess, which is licensed under the GPL (version 3 or later) and comes
with the extra `chess` only; `envs.benchmarks.checkmate` imports this package where it is used.
"""

from __future__ import annotations

try:
    import chess  # noqa: F401
except ImportError as error:
    raise ImportError(
        "the environment 'checkmate' needs python-chess (GPL-3.0-or-later), which comes with the"
        " extra 'chess': pip install 'laconic[chess]'"
    ) from error
