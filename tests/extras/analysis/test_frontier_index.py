from __future__ import annotations

import math

import pytest
from omegaconf import OmegaConf

from laconic import envs
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.evaluation import EvaluationRun
from laconic.extras.analysis.frontier import coded, index, laconic_index, measure_index
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play

SPLIT = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}


def index_of(script: str, **settings):
    all_settings = {**SPLIT, "split": "evaluation", "tasks": 20, **settings}
    environments = [envs.make("signal", free=True, **all_settings) for _ in range(4)]
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    policies = ScriptedTeam(script).policies(environments[0])
    return laconic_index(environments, starts, play(environments, policies, starts, seed=0))


def test_the_index_is_the_place_between_the_frontier_and_many_words():
    floor = coded(0.25).answered(1.0)
    # At accuracy 1 the fewest are 1.75 tokens; a verbose team says 21.75.
    assert [index(tokens, 1.0, floor, 21.75) for tokens in (1.75, 11.75, 21.75)] == [0, 0.5, 1]
    # Half as accurate: a word in a fourth of the tasks, an answer in half; half of 21.75.
    assert index(0.25 + 0.5, 0.5, floor, 21.75) == pytest.approx(0.0)
    assert index(21.75 / 2, 0.5, floor, 21.75) == pytest.approx(1.0)
    assert math.isnan(index(0.0, 0.0, floor, 21.75))


def test_scripts_stand_where_they_should():
    (verbose,), (oracle,), (short,) = (
        index_of(script).values() for script in ("verbose", "oracle", "telegraph")
    )
    assert verbose.mean == pytest.approx(1.0, abs=0.05)
    assert 0 < short.mean < oracle.mean < 0.2
    assert verbose.low < verbose.mean < verbose.high and oracle.count == 20


@pytest.mark.parametrize("settings", [{"information": "full"}, {"answer": "majority"}])
def test_without_a_frontier_there_is_no_index(settings):
    assert index_of("oracle", **settings) == {}


def test_a_team_that_solves_nothing_has_none():
    assert index_of("silent") == {}


def test_without_episodes_there_is_no_index():
    env = envs.make("signal", free=True, **SPLIT, split="evaluation", tasks=2)
    assert laconic_index([env], [Start(0, next(iter(env.tasks)))], []) == {}


def test_the_first_sample_of_a_task_stands_for_it_and_other_layouts_have_no_index(tmp_path):
    env = envs.make("signal", free=True, **SPLIT, split="evaluation", tasks=4)
    once = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    starts = [start for start in once for _ in range(2)]
    episodes = play([env], ScriptedTeam("oracle").policies(env), starts, seed=0)

    def found(**settings):
        cfg = OmegaConf.create({"evaluation": {"samples": 2}, **settings})
        run = EvaluationRun(cfg, [env], {}, starts, RunFolder(tmp_path), episodes)
        return measure_index(run).figures

    assert found() == laconic_index([env], once, episodes)
    assert found(entry={"layout": "single"}) == {}
