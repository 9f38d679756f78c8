"""The environments of this package, one folder each, found by the name of the folder.

A folder has `ENVIRONMENT`: a benchmark, or the class of a world. Everything about one environment
lies in its folder; what several of them share is in `envs.benchmarks`, `envs.worlds` and
`envs.families`.
"""

from pathlib import Path

STAND_IN = Path(__file__).parent / "gsm8k" / "policy"
"""Folder of the policy that stands in for those of environments that ship none."""
