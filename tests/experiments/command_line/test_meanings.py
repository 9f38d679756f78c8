"""`--help <key>` says what a key holds, takes and means, from the place that declares it."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest
from hydra.errors import HydraException

from laconic.experiments.command_line.meanings import (
    Composed,
    asked_keys,
    describe_keys,
    in_yaml,
    read_rows,
)
from laconic.experiments.command_line.tree import CONF, declared, dotted

ANY, TYPED, PARTLY = "may set it", "has to be typed", "to some values"
CASES = [
    # Shown by a yaml, whose comment explains them.
    ("learner.objective.epsilon", "0.2", "a finite number above 0 and at most 1", "ratio", ANY),
    ("env.rounds", "2", "a whole number of at least 1", "Maximum rounds", ANY),
    ("env.reward.charge", "own", "own, team or listeners", "charged for a message", ANY),
    ("env.reward.exempt_answer", "true", "true or false", "final answer", ANY),
    ("train.minutes", "null", "a finite number above 0, or null", "no limit", ANY),
    ("train.evaluate_every", "null", "a whole number of at least 1, or null", "full eval", ANY),
    ("evaluation.source", "null", "a text, or null", "a folder or `hub:<id>`", TYPED),
    ("agent.model", "null", "a text, or null", "Folder of the weights", ANY),
    ("optimizer.betas", "[0.9, 0.99]", "a list", "running means", PARTLY),
    ("seed", "0", "a whole number of at least 0", "random numbers", ANY),
    # Hidden: the field, or the entry of a parameter.
    ("agent.lora.rank", "16", "a whole number of at least 1", "added matrices", ANY),
    ("agent.lora.target_modules", "all-linear", "a text or a list (each a text)", "Layers", ANY),
    ("agent.attn_implementation", "null", "a text, or null", "`transformers`", PARTLY),
    ("env.channel.per", "listener", "listener or message", "Unit of a loss", ANY),
    ("env.fault.kind", "null", "false_fact, false_claim, mute or parrot, or null", "fault", ANY),
    ("env.holdout", "null", "a finite number above 0 and below 1, or null", "is drawn", ANY),
    ("env.addressing", "none", "none, names or scopes", "name its listeners", ANY),
    ("env.max_rounds", "1000", "a whole number of at least 1", "endless episode", ANY),
    ("learner.correction_high", "null", "a number above 1, or null", "upper bound", ANY),
    ("evaluation.demand", "null", "a whole number of at least 1, or null", "evaluation tasks", ANY),
    ("report", "true", "true or false", "writes its report", ANY),
    # Keys of a mapping, which is explained as a whole.
    ("env.team.helper", "3", "a whole number", "Agents of each role", ANY),
]


@functools.cache
def composed(program="train", *arguments) -> Composed:
    return Composed(program, str(CONF), arguments)


@pytest.mark.parametrize(("key", "value", "takes", "words", "trust"), CASES)
def test_a_key_is_explained(key, value, takes, words, trust):
    text = " ".join(composed().describe(key).split())
    assert text.startswith(f"{key}={value} ")
    assert f" takes {takes} " in text
    assert words.lower() in text.lower()
    assert trust in text
    assert (" default " in text) == (key not in {*dotted(composed().values)})


def test_typed_options_and_values_count():
    chosen = composed(
        "train", "env=signal", "learner=mappo", "train.steps=7", "env.channel.lose=0.5"
    )
    assert chosen.value("learner.critic.sees") == "team"
    assert chosen.value("learner.decay_updates") == "7"
    assert chosen.value("env.channel.lose") == "0.5"
    # The yaml of the option sets it without a comment, and the yaml that it builds on has one.
    assert chosen.meaning("learner.critic.sees").startswith("Conversations it sees")


def test_a_node_lists_its_settings_and_options():
    price = composed().describe("learner.price")
    assert "learner/price=accuracy_floor, fixed, pass_rate, target_tokens" in price
    assert "laconic.learners.prices.schedule.PassRate" in price
    assert "\n  learner.price.power=2\n" in price
    # Also one that no yaml shows.
    assert "\n  env.channel.lose=0.0\n" in composed().describe("env.channel")
    assert "\n  train.steps=60\n" in composed().describe("train")


@pytest.mark.parametrize(
    ("program", "key", "value"),
    [
        ("evaluate", "evaluation.pass_at", "[1]"),
        ("compare", "compare.most_votes", "64"),
        ("demand", "demand.credit", "silence"),
    ],
)
def test_every_program_explains_its_own(program, key, value):
    text = composed(program).describe(key)
    assert text and composed(program).meaning(key)
    assert text.startswith(f"{key}={value}\n")


def test_every_setting_of_a_default_run_has_a_sentence():
    for program in ("train", "evaluate", "compare"):
        run = composed(program)
        ours = {
            key
            for key, setting in declared(run.values, run.record).items()
            if setting.owner.startswith("laconic.")
        }
        shown = {key for key in dotted(run.values) if "._" not in key and run.value(key)}
        assert len(ours | shown) > 100
        assert {key for key in ours | shown if not run.meaning(key)} == set()


def test_a_package_of_others_gets_the_same_help(register, tmp_path):
    mark = tmp_path / "imported"
    source = f"""
from dataclasses import dataclass
from typing import Annotated, Literal
from laconic.envs.checks import TYPED, Bound
open({str(mark)!r}, "w")

class Mine:
    '''A part of my own.

    Args:
        path: folder of the
            table (of mine); None for none.
    '''

    def __init__(self, path: str | None = None, inner: "Inner | None" = None) -> None: ...

@dataclass
class Inner:
    depth: Annotated[int, Bound(ge=1, le=9)] = 3
    '''Layers of the table.'''
    begin: Annotated[bool, TYPED] = False
"""
    option = "defaults: [gspo, _self_]\npart:\n  _target_: my_means.Mine\n  inner: {depth: 4}\n"
    option += "# Its shape.\nshape: round\n"
    files = {
        "my_means.py": source,
        "my_means_conf/__init__.py": "",
        "my_means_conf/learner/mine.yaml": option,
    }
    register("laconic.configs", "mine", "my_means_conf", files)
    mine = Composed("train", str(CONF), ["learner=mine"])
    depth = mine.describe("learner.part.inner.depth")
    assert depth.startswith("learner.part.inner.depth=4\n    Layers of the table.\n")
    assert "a whole number from 1 to 9" in depth and "my_means.Inner" in depth
    path = mine.describe("learner.part.path")
    assert "Folder of the table (of mine); null for none." in path and TYPED in path
    assert TYPED in mine.describe("learner.part.inner.begin")
    assert "\n    Its shape." in mine.describe("learner.shape")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("typed", "closest"),
    [
        ("learner.objectiv.epsilon", "'learner.objective.epsilon'"),
        ("env.chanel.lose", "'env.channel.lose'"),
        ("learner.charge_power", "learner.price.power replaces"),
    ],
)
def test_an_unknown_key_is_answered_with_the_closest(typed, closest):
    with pytest.raises(HydraException, match=closest):
        describe_keys("train", str(CONF), [], ["seed", typed])


def test_words_beside_the_flag_are_keys():
    typed = ["learner/price", "env=signal", "~logger", "env.rounds", "--help", "--config-dir", "a"]
    assert asked_keys(typed) == ["learner.price", "env.rounds"]


def test_values_are_written_as_in_a_yaml():
    values = [None, True, 1e-08, "a, b", (), [1, "x"], {"a": None}]
    texts = ["null", "true", "1.0e-08", "'a, b'", "[]", "[1, x]", "{a: null}"]
    assert [in_yaml(value) for value in values] == texts


def test_rows_of_a_yaml_are_read_without_composing_it():
    text = "# Head.\n_target_: a.B\na: 1\n# Second.\nb: {c: 2}\n"
    assert [*read_rows(text, "x")] == [("x.a", "1", ""), ("x.b", "{c: 2}", "Second.")]
    # In braces too a mapping has rows where a yaml that it builds on has some.
    assert [*read_rows(text, "", ["b.d"])][-1][:2] == ("b.c", "2")


@pytest.mark.parametrize(
    ("typed", "first"),
    [(["env=signal", "env.rounds"], "env.rounds=2\n"), ([], "`laconic train --help")],
)
def test_the_command_answers_without_torch(typed, first):
    code = (
        "import atexit, sys; from laconic.experiments.command_line import console;"
        "atexit.register(lambda: print('torch' in sys.modules));"
        f"sys.argv = ['laconic', 'train', *{typed}, '--help']; console.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(first) and done.stdout.endswith("False\n")
