"""0 is silence, 1 the best known team, at the environment's price."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.extras.benchmark.score import Scale, scale


def test_a_benchmark_with_scripts():
    # The best of two scripts scores 1: 1 - 7 x 0.12 / 12 = 0.93 beats 1 - 12 x 0.01 = 0.88.
    # A team that solves 80 % with 20 tokens earns 0.8 - 0.2 = 0.6, and 0.6 / 0.93 = 0.645.
    found = scale("gsm8k", {"silent": 0.0, "oracle": 0.88, "telegraph": 0.93}, {})
    assert found == Scale(0.0, 0.93, "telegraph")
    assert found.normalized(0.6) == pytest.approx(0.645, abs=5e-4)
    # Briefer than the script: 1 - 3 x 0.01 = 0.97.
    assert found.normalized(0.97) > 1


def test_a_world_with_a_closed_form():
    # The script earns less than the best rule, 0.797; 0.8419 - 3 x 0.06 = 0.6619.
    found = scale("jury", {"silent": 0.0, "oracle": 0.7207}, {"closed form": 0.797})
    assert found.best_of == "closed form"
    assert found.normalized(0.8419 - 0.18) == pytest.approx(0.8305, abs=5e-5)


def test_a_text_paid_by_its_marks_where_silence_earns_something():
    # (1.3 - 0.2) / (2.4 - 0.2) = 0.5.
    found = scale("tldr", {"silent": 0.2, "oracle": 2.4}, {})
    assert found.normalized(0.2) == 0
    assert found.normalized(1.3) == pytest.approx(0.5)


def test_a_score_is_at_least_minus_one():
    # (-1.214 - 0) / 0.961 = -1.26.
    assert Scale(0.0, 0.961, "coded frontier").normalized(-1.214) == -1


@pytest.mark.parametrize("best", [-0.5, 0.0])
def test_where_silence_earns_most_there_is_no_score(best):
    with pytest.raises(SettingError, match=r"signal.*env\.reward\.price"):
        scale("signal", {"silent": 0.0, "oracle": best}, {})
