"""Everything the learner's side raises on purpose beyond `envs.errors`, one class per failure.

The policy: a setting or a name that is wrong raises the classes of `envs.errors`; what the machine
refuses while a run is saved raises one of these, says what was needed, where, and what to do, and
leaves what was saved before untouched. Every class is also the built-in error a caller expects.
"""

from __future__ import annotations


class CheckpointError(OSError):
    """A checkpoint cannot be written or read; earlier ones are untouched."""
