"""The package of the tutorials, run by the commands of their pages."""

from __future__ import annotations

import json
import math
import re
import shlex

import pytest
from gymnasium.spaces import Text
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test
from places import ROOT

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.errors import SettingError
from laconic.learners.advantages.group import Key

PAGES = [ROOT / "docs" / f"own_{name}.md" for name in ("environment", "algorithm")]
TRAIN = "laconic train "


@pytest.fixture
def blocks(code_blocks):
    """Return the code blocks of the page."""
    return [block for page in PAGES for block in code_blocks(page)]


@pytest.fixture
def commands(blocks):
    """Return the arguments of the page's trainings."""
    lines = [line for block in blocks if block.kind == "sh" for line in block.code.splitlines()]
    trainings = [line.removeprefix(TRAIN) for line in lines if line.startswith(TRAIN)]
    # Those with a folder of choices are run below.
    return [
        shlex.split(line)
        for line in trainings
        if "my_package" in line and "--config-dir" not in line
    ]


@pytest.mark.slow
def test_every_command_trains_in_a_process_of_its_own(
    commands, processes, my_package, small, rows, tmp_path
):
    assert len(commands) == 6
    for number, command in enumerate(commands):
        folder = tmp_path / str(number)
        gone = [override[1:] for override in command if override.startswith("~")]
        replaced = tuple(name + end for name in gone for end in (".", "/"))
        sizes = [override for override in small if not override.startswith(replaced)]
        outcome = processes.run(
            "train",
            *command,
            *sizes,
            "train.steps=2",
            f"hydra.run.dir={folder}",
            path=[str(my_package)],
        )
        assert outcome.code == 0, outcome.err
        metrics = rows(folder / "metrics.jsonl")
        assert [row["step"] for row in metrics] == [0, 1, 2]
        assert all(math.isfinite(value) for row in metrics for value in row.values())
        assert ("learner/imitated" in metrics[1]) == ("~learner" in command)
        assert (folder / "checkpoints").exists()


def test_the_environment_keeps_both_contracts_and_is_short(my_package, blocks):
    from my_package import Password

    check_env(Password)
    parallel_api_test(Password(), num_cycles=30)
    (code,) = [block.code for block in blocks if block.file == "my_package/password.py"]
    assert len(code.splitlines()) < 60


def test_the_environment_is_won_by_who_says_the_password(my_package):
    from my_package import Password

    env = Password(price=0.25)
    assert not set(env.tasks) & set(Password(split="evaluation").tasks)
    texts, infos = env.reset(seed=0, options={"task": "17"})
    assert texts["teller_0"] == "The password is 17." and infos["guesser_0"]["task"] == "17"
    texts, rewards, *_ = env.step({"teller_0": "it is 17"})
    # Three tokens at 0.25; silence is free.
    assert texts["guesser_0"] == "teller_0: it is 17"
    assert rewards == {"teller_0": -0.75, "guesser_0": 0.0}
    _, rewards, terminated, _, infos = env.step({"guesser_0": "17"})
    assert rewards == {"teller_0": 1.0, "guesser_0": 0.75}
    assert all(terminated.values()) and infos["teller_0"]["solved"] and env.agents == []


def test_the_estimator_gives_the_advantages_of_the_page(my_package):
    from my_package import Ranks

    ranks = Ranks()
    keys = [Key("task", "helper_0")] * 4
    # The table of the page.
    assert ranks([1, 0, 0, 0.5], keys) == pytest.approx((1, -2 / 3, -2 / 3, 1 / 3), rel=1e-12)
    assert ranks([7.0], keys[:1]) == (0.0,) and ranks([2.0] * 4, keys) == (0.0,) * 4
    # One large return weighs no more than a good one, and agents and tasks are compared apart.
    assert ranks([1000, 0, 0, 0.5], keys) == ranks([1, 0, 0, 0.5], keys)
    apart = [Key("task", "a"), Key("task", "b"), Key("other", "a"), Key("task", "a")]
    assert ranks([1, 5, 9, 0], apart) == (1.0, 0.0, 0.0, -1.0)


def config_dir(my_package):
    return ["--config-dir", str(my_package / "my_conf")]


@pytest.mark.parametrize(
    "choice",
    [
        "learner/advantages=ranks",
        pytest.param("learner.advantages._target_=my_package.Ranks", marks=pytest.mark.slow),
    ],
)
def test_the_estimator_trains_by_its_yaml_and_by_its_name(
    run, my_package, small, rows, tmp_path, choice
):
    overrides = [choice, *small, "train.steps=1"]
    outcome = run("train", *config_dir(my_package), *overrides, f"hydra.run.dir={tmp_path}")
    assert outcome.code == 0, outcome.err
    assert "my_package.Ranks" in (tmp_path / "config.yaml").read_text()
    assert math.isfinite(rows(tmp_path / "metrics.jsonl")[-1]["learner/loss"])


def test_the_benchmark_has_twenty_tasks_each_with_one_right_answer(my_package):
    from my_package import meetings

    parts = [meetings.make(split=split).tasks.values() for split in ("train", "evaluation")]
    assert [len(part) for part in parts] == [15, 5]
    tasks = [task for part in parts for task in part]
    assert len({task.text for task in tasks}) == 20
    for task in tasks:
        free = [set(re.findall(r"[0-9]+", statement)) for statement in task.statements]
        assert len(free) == 3 and set.intersection(*free) == {task.answer}


def test_the_benchmark_grades_the_last_mark(my_package):
    from my_package.meetings import MEETINGS, make

    task = next(iter(make().tasks.values()))
    right, wrong = f"#### {task.answer}", "#### 25"
    graded = {
        right: True,
        f"It is {wrong}, no: {right}": True,
        f"####{task.answer}.": True,
        f"{right}, no: {wrong}": False,
        task.answer: False,
        "": False,
        f"{right}0": False,
    }
    for message, solved in graded.items():
        score = MEETINGS.score(task, {"solver_0": message})
        assert (score.solved, score.value) == (solved, float(solved)), message
    assert MEETINGS.committed(f"well {right}!") == right


def test_the_environment_of_the_benchmark_keeps_the_contract(my_package):
    from my_package.meetings import make

    check_env(lambda: make(information="split", budget={"message": 40}, reward={"price": 0.5}))


def test_the_benchmark_trains_and_is_solved_by_scripts_by_its_yaml(
    run, my_package, small, rows, tmp_path
):
    sizes = [override for override in small if not override.startswith("env.")]
    chosen = [*config_dir(my_package), "env=meetings"]
    outcome = run("train", *chosen, *sizes, "train.steps=1", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    assert "eval/accuracy" in rows(tmp_path / "run" / "metrics.jsonl")[-1]
    played = [*chosen, "agent=scripted", f"hydra.run.dir={tmp_path}/played"]
    outcome = run("evaluate", *played)
    assert outcome.code == 0, outcome.err
    assert len(rows(tmp_path / "played" / "episodes.jsonl")) == 5
    assert rows(tmp_path / "played" / "metrics.jsonl")[-1]["eval/accuracy"] == 1.0


def test_a_benchmark_without_a_generator_asks_for_a_source(my_package):
    from my_package.meetings import MEETINGS

    with pytest.raises(SettingError, match="^meetings has no generator of tasks; set env.source"):
        envs.make(MEETINGS)
    with pytest.raises(SettingError, match="^env.holdout=0.5 divides"):
        envs.make(MEETINGS, holdout=0.5)


class Guests(ParallelEnv):
    """Other people's: names of any form, spaces of Gymnasium, truncation, and an early leaver."""

    metadata = {"name": "guests_v0"}
    names = ["alice", "bob"]

    def __init__(self):
        self.possible_agents, self.agents = list(self.names), []
        self.space = Text(200, min_length=0, charset="".join(map(chr, range(32, 127))))

    def observation_space(self, agent):
        return self.space

    def action_space(self, agent):
        return self.space

    def reset(self, seed=None, options=None):
        self.agents, self.round = list(self.names), 0
        return {agent: f"Good evening, {agent}." for agent in self.agents}, {
            agent: {} for agent in self.agents
        }

    def step(self, actions):
        alive, self.round = self.agents, self.round + 1
        # Alice leaves after a round, and Bob is shown out after three.
        first, second = self.names
        self.agents = [second] if self.round < 3 else []
        return (
            {agent: "Go on." for agent in alive},
            {agent: float(len(actions[agent]) > 3) for agent in alive},
            {agent: agent == first for agent in alive},
            {agent: agent == second and self.round == 3 for agent in alive},
            {agent: {} for agent in alive},
        )


def test_an_environment_of_other_people_trains_with_agents_of_any_name_that_leave_early(
    run, small, rows, tmp_path
):
    sizes = [override for override in small if not override.startswith("env.")]
    target = f"+env._target_={__name__}.Guests"
    folder = f"hydra.run.dir={tmp_path}/run"
    outcome = run("train", "~env", target, *sizes, "train.steps=2", "report=true", folder)
    assert outcome.code == 0, outcome.err
    metrics = rows(tmp_path / "run" / "metrics.jsonl")
    # Alice speaks once and Bob three times in each episode: rounds, and two sequences an episode.
    assert all(row["train/rounds"] == 3.0 for row in metrics[1:])
    assert all(row["learner/sequences"] == 8.0 for row in metrics[1:])
    assert all(0.0 <= row["train/reward"] <= 4.0 for row in metrics[1:])
    # What its infos do not tell is left out of the figures, and of what is made of them.
    names = {name.partition("/")[2] for row in metrics for name in row}
    assert names.isdisjoint({"accuracy", "tokens_said", "tokens_read", "price"})
    assert "reward" in names and (tmp_path / "run" / "report.html").exists()
    card = (tmp_path / "run" / "policy" / "README.md").read_text()
    told = card.partition("## Settings")[0].replace("learner/price=fixed", "")
    assert "tokens said" not in card and "price" not in told


class Strangers(Guests):
    """Guests by names that are no plain names of files."""

    names = ["team/a", "../b"]


def test_agents_of_any_name_have_weights_of_their_own_within_the_run_and_are_loaded_again(
    run, small, rows, tmp_path
):
    sizes = [override for override in small if not override.startswith("env.")]
    target, folder = ["~env", f"+env._target_={__name__}.Strangers"], tmp_path / "run"
    overrides = [*target, *sizes, "agent.sharing=separate", "train.steps=1"]
    outcome = run("train", *overrides, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert [place.name for place in tmp_path.iterdir()] == ["run"]
    policies = sorted(path.parent for path in folder.rglob("config.json"))
    assert policies == [folder / "policy" / "%2E.%2Fb", folder / "policy" / "team%2Fa"]
    team = json.loads((folder / "policy" / "team.json").read_text())
    assert team == {"team/a": "team%2Fa", "../b": "%2E.%2Fb"}
    model = [f"agent.model={folder}/policy", "agent.sharing=separate", "evaluation.tasks=2"]
    again = [
        *target,
        *model,
        "agent.sampling.max_reply_tokens=4",
        f"hydra.run.dir={tmp_path}/again",
    ]
    outcome = run("evaluate", *again)
    assert outcome.code == 0, outcome.err
    assert len(rows(tmp_path / "again" / "episodes.jsonl")) == 2


class Numbered(Strangers):
    names = [0, 1]


def test_agents_without_names_are_refused_in_a_line_that_leaves_nothing(run, small, tmp_path):
    sizes = [override for override in small if not override.startswith("env.")]
    target = ["~env", f"+env._target_={__name__}.Numbered"]
    outcome = run("train", *target, *sizes, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "printable strings of 1 to 80 bytes" in outcome.message
    assert "got possible_agents=[0, 1]" in outcome.message


def test_no_more_tasks_are_evaluated_than_asked_for(run, my_package, policy_folder, rows, tmp_path):
    target = "+env._target_=my_package.Password"
    overrides = ["evaluation.tasks=3", f"agent.model={policy_folder}", f"hydra.run.dir={tmp_path}"]
    outcome = run("evaluate", "~env", target, *overrides, "agent.sampling.max_reply_tokens=4")
    assert outcome.code == 0, outcome.err
    assert len(rows(tmp_path / "episodes.jsonl")) == 3


def test_a_schedule_of_prices_without_a_price_is_refused(run, my_package, small, tmp_path):
    sizes = [override for override in small if not override.startswith("env.")]
    overrides = ["~env", "+env._target_=my_package.Password", *sizes, "learner/price=target_tokens"]
    outcome = run("train", *overrides, f"hydra.run.dir={tmp_path}")
    assert outcome.code == 1
    assert (
        "learner.price (TargetTokens)" in outcome.message and "Password has none" in outcome.message
    )


def test_a_comparison_shows_what_is_told_and_leaves_out_who_cannot_play(
    run, policy_folder, tmp_path
):
    overrides = [
        "evaluation.tasks=2",
        f"agent.model={policy_folder}",
        f"hydra.run.dir={tmp_path}/c",
    ]
    target = f"+env._target_={__name__}.Guests"
    outcome = run("compare", "~env", target, *overrides, "agent.sampling.max_reply_tokens=4")
    assert outcome.code == 0, outcome.err
    rows = json.loads((tmp_path / "c" / "comparison.json").read_text())["entries"]
    states = {row["name"]: row["state"] for row in rows}
    finished = {name for name, state in states.items() if state == "finished"}
    assert finished == {"team", "random", "silent"} and "failed" not in states.values()
    assert "only random and silent can play" in outcome.out
    head = (tmp_path / "c" / "comparison.md").read_text().split("|")
    assert " score " in head and " accuracy " not in head and " tokens said " not in head
    assert (tmp_path / "c" / "comparison.png").exists()
