"""The probe on scripted teams: silence that is a word, and silence that is none."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.dialogue.channel import Transmission
from laconic.envs.dialogue.option import option_of
from laconic.envs.errors import SettingError
from laconic.experiments.session.evaluation import EvaluationRun, Findings
from laconic.extras.analysis.silence_probe import SilenceProbe, silence_reliance
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play

SPLIT = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}
COLORS = ("red", "blue", "green", "white")


class Team:
    """Tells the colour, or says nothing for red and reads silence so."""

    def __init__(self, tasks, codes: bool) -> None:
        self.tasks, self.codes = tasks, codes

    def reply(self, requests, *, seed: int, greedy: bool) -> list[Reply]:
        return [Reply(self.says(request)) for request in requests]

    def says(self, request) -> str:
        task = self.tasks[request.info["task"]]
        if not request.info["answering"]:
            knows = any(task.relevant[index] for index in request.info["share"])
            return task.answer if knows and not (self.codes and task.answer == "red") else ""
        lines = [line for line in request.text.splitlines() if line.startswith("helper_")]
        colors = [colour for colour in COLORS for line in lines if line.endswith(f": {colour}")]
        missing = any(line.endswith("could not be heard.") for line in lines)
        return f"#### {colors[0] if colors else 'blue' if missing else 'red'}"


def reliance(codes: bool, channel=None):
    settings = {"split": "evaluation", "tasks": 60, "channel": channel or {}}
    environments = [envs.make("signal", free=True, **SPLIT, **settings) for _ in range(4)]
    policies = dict.fromkeys(environments[0].possible_agents, Team(environments[0].tasks, codes))
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    episodes = play(environments, policies, starts, seed=0)
    before = option_of(environments[0], Transmission).settings
    interval = silence_reliance(environments, policies, starts, episodes, seed=0, greedy=True)
    assert {option_of(env, Transmission).settings for env in environments} == {before}
    red = sum(task.answer == "red" for task in environments[0].tasks.values())
    return interval, red / 60


def test_a_team_that_says_everything_in_words_does_not_rely_on_silence():
    interval, _ = reliance(codes=False)
    assert (interval.mean, interval.low, interval.high, interval.count) == (0.0, 0.0, 0.0, 60)


def test_a_team_that_codes_by_silence_loses_that_information():
    interval, red = reliance(codes=True)
    assert interval.mean == pytest.approx(red)
    assert 0 < interval.low < red < interval.high < 0.5


def test_an_environment_without_a_channel_is_refused():
    with pytest.raises(SettingError, match="needs an environment with `env.channel`"):
        silence_reliance([object()], {}, [], [], seed=0, greedy=True)  # type: ignore[list-item]


def test_the_probe_of_silence_is_played_on_demand(run, tmp_path, rows):
    more = ["agent=scripted", "evaluation.tasks=10", "evaluation.probe_silence=true"]
    outcome = run("evaluate", *more, "env.channel.lose=0.5", f"hydra.run.dir={tmp_path}/e")
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "e" / "metrics.jsonl")
    # An oracle says what matters in words; what is lost is lost with and without the probe.
    assert row["eval/silence_reliance"] == 0.0 and 0 < row["eval/lost_rate"] < 1
    assert row["eval/accuracy"] < 1.0


def test_a_part_of_an_evaluation_is_not_probed_and_the_setting_is_checked():
    with pytest.raises(
        SettingError, match="evaluation.after.silence_probe.probe must be true or false"
    ):
        SilenceProbe(probe=2)  # type: ignore[arg-type]
    started = EvaluationRun(None, [], {}, [Start(0)], None)  # type: ignore[arg-type]
    assert SilenceProbe(probe=True)(started) == SilenceProbe()(started) == Findings()
