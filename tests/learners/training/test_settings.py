"""Settings of an update are checked, and built, without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from places import ROOT

from laconic.envs.errors import SettingError
from laconic.learners.training.settings import CorrectionSettings, ObjectiveSettings, StepSettings


def test_they_need_no_torch():
    code = (
        "import sys; from laconic.learners.training.settings import StepSettings; StepSettings()\n"
        "print('torch' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    assert completed.stdout == "False\n"


def test_a_correction_per_token_is_refused_under_a_ratio_per_sequence():
    per_token = CorrectionSettings("token_mask")
    with pytest.raises(SettingError, match="importance_sampling_level=sequence has"):
        StepSettings(correction=per_token)
    StepSettings(ObjectiveSettings("token"), correction=per_token)


@pytest.mark.parametrize(("ratio", "kind"), [("sequence", "sequence_truncate"), ("none", None)])
def test_auto_follows_the_ratio_and_keeps_the_bounds(ratio, kind):
    chosen = CorrectionSettings(low=0.25).of_ratio(ratio)
    assert (chosen.kind, chosen.low) == (kind or "token_truncate", 0.25)
