"""Programs that run, here or in processes of their own; see `tests/support/runs.py`."""

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
