"""An environment of somebody else's that hangs in the way that `STUCK` in the environment says."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

from my_parts import Echo

from laconic.envs.sandbox import Limits, Program, run

_resets = count(1)
LOOP = Program("def f():\n    while True: pass\n", ("assert f() == 1",), ("f",))


class Stuck(Echo):
    """Echo until its process has begun so many episodes; then a step is made that never ends.

    `sleep` waits in the step, `grade` for a program in the sandbox, and with `endless` rounds go
    on. A file tells when that begins.
    """

    def __init__(self, mark, well=0, slow=False):
        super().__init__()
        self.mark, self.well = Path(mark), well
        self.metadata = {**self.metadata, "slow_step": slow}

    def reset(self, seed=None, options=None):
        self.stuck = os.environ.get("STUCK") if next(_resets) > self.well else None
        return super().reset(seed, options)

    def step(self, actions):
        if self.stuck:
            self.mark.touch()
        if self.stuck == "sleep":
            time.sleep(600)
        if self.stuck == "grade":
            run(LOOP, Limits(seconds=300, cpu_seconds=300))
        if self.stuck == "endless":
            self.round = 0
            time.sleep(0.01)
        return super().step(actions)
