"""A mistake is described in one line, with the closest name that exists."""

from __future__ import annotations

import shlex
import sys
import tomllib

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.command_line.mistakes import (
    PLUGINS,
    closest,
    describe,
    existing_key,
    quoting,
    unknown_key,
    unknown_option,
)


@pytest.mark.parametrize(
    ("typed", "valid"),
    [
        ("env.reward.prise", "env.reward.price"),
        # The last part alone is enough, and so is a part in the middle.
        ("price", "env.reward.price"),
        ("reward.price", "env.reward.price"),
        ("trian.steps", "train.steps"),
    ],
)
def test_the_closest_key_is_offered(typed, valid):
    assert closest(typed, [valid, "seed", "env.reward.normalizer"]) == valid


def test_a_key_of_the_same_group_comes_before_one_that_looks_closer():
    keys = ["learner.price", "env.reward.price", "env.prices", "env.a.b.price"]
    assert closest("env.price", keys) == "env.reward.price"
    assert closest("learner.loss.price", keys) == "learner.price"


def test_a_name_in_another_style_is_searched_as_an_unknown_key_is():
    keys = {"train.steps", "env.name", "seed", "hydra.output"}
    assert existing_key("steps", keys) == "train.steps"
    # A group, a key, and a name that nothing of the program is close to.
    assert [existing_key(name, keys) for name in ("env", "seed", "output")] == [
        "env",
        "seed",
        "output",
    ]


@pytest.mark.parametrize(
    ("typed", "valid"),
    [
        ("qqq", "env.reward.price"),
        ("train.epochs", "train.steps"),
        ("train.batch_size", "train.group_size"),
        ("env.speed", "env.seed_word"),
        ("learner.temperature", "learner.minibatches"),
        ("num_agents", "agent"),
        ("env.max_tokens", "env.max_rounds"),
    ],
)
def test_a_far_fetched_suggestion_is_worse_than_none(typed, valid):
    assert closest(typed, [valid, "threads"]) is None


def test_without_a_close_key_the_neighbors_are_listed():
    keys = ["env", "env.rounds", "env.reward", "env.reward.price", "hydra.run"]
    assert unknown_key("env.zzz", keys) == (
        "unknown config key 'env.zzz'. Known in env: reward, rounds."
    )
    assert unknown_key("env.round", keys, can_be_added=True) == (
        "unknown config key 'env.round'. Did you mean 'env.rounds'?"
        " (a new key is added with '+env.round=...')"
    )


VALUES = ["~/runs", "runs/Müller", "runs/a#b", "runs/lr=1e-4", 'say "no"', "a;b", "50%", "x(y)"]


@pytest.mark.parametrize("value", VALUES)
def test_the_advised_quotes_give_the_value(value):
    advice = quoting(f"hydra.run.dir={value}")
    (typed,) = shlex.split(advice.removeprefix("quote it: "))
    assert OverridesParser.create().parse_override(typed).value() == value


@pytest.mark.parametrize("override", ["hydra.run.dir=~/runs", "hydra.run.dir=runs/Müller"])
def test_a_value_that_needs_quotes_is_described_with_them(override):
    with pytest.raises(HydraException) as caught:
        OverridesParser.create().parse_overrides([override])
    key, _, value = override.partition("=")
    assert describe(caught.value) == (
        f"cannot read the override {override!r}: quote it: '{key}=\"{value}\"'"
    )


@pytest.mark.parametrize("override", ["a", "a=[1,", 'a="b', "a={b: 1"])
def test_there_is_no_advice_if_quotes_would_not_help(override):
    assert quoting(override) == ""


PLACE = {
    "toys/__init__.py": "from toys.blocks import Tower, build\n",
    "toys/blocks.py": """
class Tower:
    def __init__(self, height, color, *, glue=None):
        pass

def build(storeys=1, **settings):
    return Tower(storeys, "red", **settings)
""",
    "toys/broken.py": "import a_package_that_nobody_has\n",
}


@pytest.fixture
def message(tmp_path, monkeypatch):
    """Build a node at `env` that cannot be built; return its description."""
    for name, text in PLACE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [module for module in sys.modules if module.partition(".")[0] == "toys"]:
        monkeypatch.delitem(sys.modules, name)

    def call(target, **settings):
        cfg = OmegaConf.create({"env": {"_target_": target, **settings}})
        with pytest.raises(Exception) as caught:
            instantiate(cfg.env)
        text = describe(caught.value)
        assert "\n" not in text
        return text

    return call


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("toys.Towr", "Did you mean 'toys.Tower'? (config key 'env')"),
        ("toys.block.Tower", "Did you mean 'toys.blocks'?"),
        ("toys.blocks.tower", "Did you mean 'toys.blocks.Tower'?"),
        ("toys.Zzzz", "No module named 'toys.Zzzz'"),
        ("toys.Tower.top", "type object 'Tower' has no attribute 'top'"),
        ("toy.Tower", "No module named 'toy'"),
        ("toys", "Expected a callable target, got '<module 'toys'"),
        ("math.pi", "Expected a callable target, got '3.14"),
        ("toys.broken.Tower", "No module named 'a_package_that_nobody_has'"),
    ],
)
def test_a_target_that_is_no_class_is_described_with_its_key(message, target, words):
    text = message(target)
    assert words in text and "(config key 'env')" in text


def test_the_arguments_of_a_class_are_checked_by_name(message):
    assert message("toys.blocks.build", storey=2) == (
        "unknown config key 'env.storey'. Did you mean 'env.storeys'?"
    )
    text = message("toys.Tower", glue=1)
    assert "toys.blocks.Tower" in text and "'height' and 'color'" in text


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("hydra/launcher/joblip", "'joblib'? It needs pip install 'laconic-marl[joblib]'."),
        ("hydra/launcher/submitit_local", "It needs pip install 'laconic-marl[submitit]'."),
        ("hydra/sweeper/optuna", "It needs pip install 'laconic-marl[optuna]'. Known: basic"),
        ("hydra/sweeper/basik", "Did you mean 'basic'? Known: basic"),
        ("env/optuna", "unknown option 'optuna' of group 'env'. Known: basic"),
    ],
)
def test_a_plugin_that_is_not_installed_is_described_with_its_extra(option, words):
    assert words in unknown_option(option, ["basic"])


def test_the_extras_of_plugins_are_those_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(PLUGINS.values()) <= set(extras["optional-dependencies"])
