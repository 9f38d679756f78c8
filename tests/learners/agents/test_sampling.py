"""The settings of sampling."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.agents.sampling import SamplingSettings, check_count


def test_thinking_is_off_where_a_template_knows_it():
    assert SamplingSettings().template == {"enable_thinking": False}


@pytest.mark.parametrize("count", [0, True, 1.0, None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(SettingError, match=r"agent\.x must be a whole number of at least 1"):
        check_count("x", count)
