"""Our statistics are those of rliable, and marl-eval reads our results.

`make parity-statistics` installs both in an environment of their own and runs this.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("rliable")

from marl_eval.utils.data_processing_utils import (  # noqa: E402
    create_matrices_for_rliable,
    data_process_pipeline,
)
from marl_eval.utils.diagnose_data_errors import DiagnoseData  # noqa: E402
from rliable import library, metrics  # noqa: E402

from laconic.extras.benchmark.results import LAYOUT, write  # noqa: E402
from laconic.extras.benchmark.statistics import (  # noqa: E402
    improvement,
    interval,
    iqm,
    profile,
    run_scores,
)

pytestmark = pytest.mark.parity
LEVELS = np.linspace(-1, 1.2, 23)


@pytest.fixture(params=[(3, 3), (5, 6), (10, 4)], ids=str)
def scores(request):
    """Two methods of this many runs and environments, with some equal scores."""
    random = np.random.default_rng(sum(request.param))
    first, second = (random.normal(mean, 0.3, request.param).round(1) for mean in (0.5, 0.6))
    return np.maximum(first, -1), np.maximum(second, -1)


def exact(scores):
    """Return scores as those of exact evaluations: one task each, as rliable knows them."""
    return [column[:, None] for column in scores.T]


def resampled(statistic, *methods):
    """Return the statistic of 20,000 resamples of ours."""
    drawn = []

    def kept(*scores):
        drawn.append(statistic(*scores))
        return drawn[-1]

    interval(kept, *methods, resamples=20_000)
    # The first is that of the scores themselves.
    return drawn[1:]


def test_figures_equal_those_of_rliable(scores):
    first, second = scores
    assert iqm(first) == pytest.approx(metrics.aggregate_iqm(first), abs=1e-12)
    theirs = metrics.probability_of_improvement(first, second)
    assert improvement(first, second) == pytest.approx(theirs, abs=1e-12)
    profiles, _ = library.create_performance_profile({"first": first}, LEVELS, reps=2)
    assert profile(first, LEVELS) == pytest.approx(profiles["first"].ravel(), abs=1e-12)


def test_intervals_equal_those_of_rliable_up_to_resampling(scores):
    first, second = scores
    for ours, theirs, given, methods in (
        (iqm, metrics.aggregate_iqm, first, [first]),
        (improvement, metrics.probability_of_improvement, (first, second), [first, second]),
    ):
        _, ends = library.get_interval_estimates({"x": given}, theirs, reps=4000)
        low, high = ends["x"].ravel()
        drawn = np.array(resampled(ours, *map(exact, methods)))
        # Few runs have few resamples, so an end jumps between values; its level does not. Levels of
        # 4,000 and 20,000 resamples differ with the standard deviation 0.27 %: 1.2 % is 4.4 times.
        for end, level in ((low, 2.5), (high, 97.5)):
            least, most = np.percentile(drawn, (level - 1.2, level + 1.2))
            assert least - 1e-9 <= end <= most + 1e-9


def test_marl_eval_reads_our_results(results, tmp_path):
    write(results, tmp_path)
    raw = json.loads((tmp_path / LAYOUT).read_text())
    [checked] = DiagnoseData(raw).check_data().values()
    assert all(checked.values())
    processed = data_process_pipeline(raw, [])
    final, steps = create_matrices_for_rliable(processed, "small_v1", [])
    for method in results.runs:
        ours = run_scores(results.scores(method))
        assert np.allclose(final["mean_normalized"][method], ours)
        assert steps["mean_normalized"][method].shape == (2, 2, 2)
        # The last evaluation of the curve is the absolute one.
        assert np.allclose(steps["mean_normalized"][method][:, :, -1], ours)
    assert final["mean_accuracy"]["gspo"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
