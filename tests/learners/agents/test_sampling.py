"""The settings of sampling."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.sampling import SamplingSettings


def test_by_default_thinking_is_off_and_the_date_is_fixed_where_a_template_knows_them():
    # `chat` shows its own fixed date in place of None.
    assert SamplingSettings().template == {"enable_thinking": False, "today": None}


@pytest.mark.parametrize("count", [0, True, 1.0, None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(
        SettingError,
        match=r"agent\.sampling\.max_reply_tokens must be a whole number of at least 1",
    ):
        SamplingSettings(max_reply_tokens=count)
