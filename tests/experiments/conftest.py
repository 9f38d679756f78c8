"""Made-up runs and a stand-in for the hub; see `tests/support`."""

from hub import hub  # noqa: F401
from made_runs import build_run  # noqa: F401
