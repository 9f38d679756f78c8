"""Programs that run, here or in processes of their own, and made-up runs; see `tests/support`."""

from made_runs import build_run  # noqa: F401
from runs import (  # noqa: F401
    _short_errors,
    my_package,
    outside,
    policy_folder,
    processes,
    rows,
    run,
    small,
    timeless,
    trained,
)
