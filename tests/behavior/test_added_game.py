"""A game in a folder outside the repository brings its words, its start and its choice by name."""

from __future__ import annotations

import ast
import re
import shutil
import sys

import pytest
from places import ROOT

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.registry import STAND_IN, metrics, recipe, recipes
from laconic.learners.agents.tiny import TinyTeam
from laconic.learners.metrics import bounds, is_share

GAME = '''
from dataclasses import dataclass
from pathlib import Path

from laconic.envs import Metric, Recipe, Score, World


@dataclass(frozen=True)
class Pennies(World):
    """Two players show a side of a coin each; the team gains 1 if the sides are equal."""

    rounds: int = 2

    name = "pennies"
    team = {"player": 2}
    goal = "Show the same side as the other player."
    acts = ("heads", "tails")
    script_names = ("heads",)
    metrics = {
        "shown_heads": Metric("Share of the sides shown that are heads.", share=True),
        "margin": Metric("Heads less tails.", low=-4.0, high=4.0),
    }
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=1,
        max_reply_tokens=9,
        training={"train.tasks_per_step": 3},
    )

    def start(self, task, agents, generator):
        return ()

    def observe(self, state, agent):
        return "Choose."

    def apply(self, state, acts, messages, generator):
        shown = tuple(acts.get(agent, "tails") for agent in ("player_0", "player_1"))
        gain = float(shown[0] == shown[1]) / self.rounds
        return (*state, shown), {"player_0": gain, "player_1": gain}

    def score(self, state):
        sides = [side for shown in state for side in shown]
        heads = sides.count("heads")
        equal = sum(first == second for first, second in state)
        measures = {"shown_heads": heads / len(sides), "margin": 2.0 * heads - len(sides)}
        return Score(equal / self.rounds, equal == self.rounds, f"{equal}", measures=measures)

    def script(self, name):
        return lambda turn, random: "> heads"
'''


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Install the game as a package, with weights, in a folder of its own; return the folder."""
    folder = tmp_path / "site"
    (folder / "pennies_game").mkdir(parents=True)
    (folder / "pennies_game" / "__init__.py").write_text(GAME)
    shutil.copytree(STAND_IN, folder / "pennies_game" / "policy")
    info = folder / "pennies_game-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pennies-game\nVersion: 0.1\n")
    points = "[laconic.environments]\npennies = pennies_game:Pennies\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "pennies_game", raising=False)
    metrics.cache_clear()
    yield folder
    metrics.cache_clear()


def sources():
    """Return path and time of change of every source file of the repository."""
    floors = ("envs", "learners", "experiments", "extras", "conf", "src")
    paths = [path for floor in floors for path in (ROOT / floor).rglob("*")]
    return {path: path.stat().st_mtime_ns for path in paths if path.suffix in (".py", ".yaml")}


def test_its_metrics_and_its_policy_are_found_by_name(site):
    check_env(lambda: envs.make("pennies", tasks=5))
    assert is_share("shown_heads") and bounds("shown_heads") == (0.0, 1.0)
    assert not is_share("margin") and bounds("margin") == (-4.0, 4.0)
    team = TinyTeam().for_environment("pennies")
    assert team.model == str(site / "pennies_game" / "policy")
    assert team.defaults()["train.tasks_per_step"] == 3
    assert team.defaults()["agent.sampling.max_reply_tokens"] == 9
    assert "pennies" in recipes()


def test_a_package_that_is_broken_hides_no_other(site):
    (site / "pennies_game" / "__init__.py").write_text("import no_such_module\n")
    assert recipe("pennies") is None and "pennies" in envs.names()
    assert "shown_heads" not in metrics() and is_share("survived")


@pytest.mark.parametrize("name", envs.names("library"))
def test_an_environment_of_the_library_is_whole_in_its_folder(name):
    factory = envs.registry.find(name)
    module = factory.__module__ if isinstance(factory, type) else type(factory).__module__
    assert module.startswith(f"laconic.envs.library.{name}.") and factory.name == name
    declared = recipe(name)
    home = ROOT / "envs" / "library" / name
    assert declared is None or declared.folder.resolve() == home / "policy"


def test_learners_name_no_environment():
    names = {*envs.names("library")}
    words = {
        word
        for path in (ROOT / "learners").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in (node.value, *re.findall(r"(?:`|env=)(\w+)", node.value))
    }
    assert "silence_rate" in words and words & names == set()


def test_it_is_evaluated_and_trained_and_no_other_file_changes(
    site, processes, small, rows, tmp_path
):
    before = sources()
    scripted = ["env=pennies", "agent=scripted", "agent.script=heads", "evaluation.tasks=2"]
    folder = tmp_path / "evaluated"
    outcome = processes.run("evaluate", *scripted, f"hydra.run.dir={folder}", path=[str(site)])
    assert outcome.code == 0, outcome.err
    (row,) = rows(folder / "metrics.jsonl")
    # All four sides are heads.
    assert (row["eval/shown_heads"], row["eval/margin"], row["eval/accuracy"]) == (1.0, 4.0, 1.0)
    folder = tmp_path / "trained"
    # With the policy that the game ships.
    sizes = [override for override in small if not override.startswith("agent.model=")]
    outcome = processes.run(
        *("train", "env=pennies", *sizes, "train.steps=1", f"hydra.run.dir={folder}"),
        path=[str(site)],
    )
    assert outcome.code == 0, outcome.err
    assert f"weights shipped for pennies: {site / 'pennies_game' / 'policy'}" in outcome.out
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1]
    assert sources() == before
