"""A ratio is checked against what does not go with it, without torch."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.training.ratio import check_ratio


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token"])
def test_a_correction_per_token_is_refused_under_a_ratio_per_sequence(ratio):
    check_ratio("token", correction="token_mask")
    check_ratio(ratio, correction="auto")
    with pytest.raises(SettingError, match=f"importance_sampling_level={ratio} has"):
        check_ratio(ratio, correction="token_mask")


def test_a_length_floor_is_refused_under_a_ratio_per_token():
    check_ratio("sequence", shortest=4)
    with pytest.raises(SettingError, match="learner.objective.shortest=4 is a length"):
        check_ratio("token", shortest=4)
