"""Made-up runs; see `tests/support/made_runs.py`."""

from made_runs import build_run  # noqa: F401
