"""Words for a `_target_` that cannot be built, and for packages and plugins that are not there."""

from __future__ import annotations

import sys

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from places import ROOT

from laconic.experiments.command_line.mistakes import describe, unknown_option
from laconic.experiments.command_line.target_mistakes import describe_target

PLACE = {
    "toys/__init__.py": "from toys.blocks import Tower, build\n",
    "toys/blocks.py": """
class Tower:
    def __init__(self, height, colour, *, glue=None):
        if height == "lost":
            raise TypeError("missing 1 required positional argument: 'height'")

def build(storeys=1, **settings):
    return Tower(storeys, "red", **settings)

def meddle(storeys=1):
    return Tower()
""",
    "toys/broken.py": "import a_package_that_nobody_has\n",
}


@pytest.fixture
def message(tmp_path, monkeypatch):
    """What is said of a node at `env` that cannot be built."""
    for name, text in PLACE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [one for one in sys.modules if one.partition(".")[0] == "toys"]:
        monkeypatch.delitem(sys.modules, name)

    def call(target, overrides=(), **settings):
        cfg = OmegaConf.create({"env": {"_target_": target, **settings}})
        with pytest.raises(Exception) as caught:
            instantiate(cfg.env)
        found = describe(caught.value, overrides)
        assert "\n" not in found
        return found

    return call


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("toys.Towr", "'toys' has no 'Towr'. Did you mean 'toys.Tower'? (config key 'env')"),
        ("toys.block.Tower", "'toys' has no 'block'. Did you mean 'toys.blocks.Tower'?"),
        ("toys.blocks.tower", "'toys.blocks' has no 'tower'. Did you mean 'toys.blocks.Tower'?"),
        ("toys.Zzzz", "'toys' has no 'Zzzz'. It has: Tower, build (config key 'env')"),
        ("toys.Tower.top", "'toys.Tower' has no 'top'. It has: none"),
        ("toy.Tower", "there is no module 'toy' for 'toy.Tower', neither in '"),
        ("toy.Tower", "nor among what is installed. Did you mean 'toys.Tower'?"),
        ("Tower", "nor among what is installed; expected <module>.<class>."),
        (
            "toys",
            "env._target_ must name a class or a function; 'toys' is a module. It has: ",
        ),
        ("math.pi", "env._target_ must name a class or a function; got 3.14"),
        ("toys.broken.Tower", "No module named 'a_package_that_nobody_has'"),
    ],
)
def test_a_path_that_leads_to_no_class_is_told_where_it_breaks_off(message, target, words):
    assert words in message(target)


def test_arguments_that_a_class_needs_are_named_as_overrides(message):
    said = message("toys.Tower", glue=1)
    assert said == (
        "toys.blocks.Tower needs 'height', 'colour'; pass +env.height=<value> +env.colour=<value>"
    )
    # What the target calls is not for the user to complete.
    assert "pass +env" not in message("toys.blocks.meddle")


def test_a_setting_too_many_is_told_apart_by_who_set_it(message):
    target = "toys.blocks.build"
    wrong = "unknown config key 'env.storey'. Did you mean 'env.storeys'? Known: env.storeys"
    assert message(target, storey=2) == wrong
    assert message(target, ["+env.storey=2"], storey=2) == wrong
    assert message(target, ["~env", f"+env._target_={target}"], storey=2) == (
        f"{wrong}. No override sets env.storey: a yaml file does, and '~env.storey' removes it"
    )
    assert message(target, [f"env._target_={target}"], storey=2) == (
        f"{wrong}. No override sets env.storey: a yaml file does, and '~env'"
        f" +env._target_={target} begins without the settings of those"
    )


def test_a_word_in_place_of_a_number_is_refused_in_words():
    key, params = "optimizer", [torch.zeros(1)]
    for name, default in (("lr", "0.001"), ("weight_decay", "0.01")):
        cfg = OmegaConf.create({key: {"_target_": "torch.optim.AdamW", name: "abc"}})
        with pytest.raises(Exception) as caught:
            instantiate(cfg[key], params, _convert_="all")
        said = describe_target(caught.value, key, [f"{key}.{name}=abc", "seed=0"])
        assert said == f"{key}.{name} must be a number, such as {default}; got 'abc'"
    assert describe_target(caught.value, key, ["learner.lr=abc"]) is None


def test_what_is_no_mistake_of_a_target_is_left_to_others():
    assert describe_target(ValueError("no"), "env") is None


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [
        ("hydra/launcher", "submitit_local", "'submitit_local' needs pip install 'laconic[submit"),
        ("hydra/launcher", "joblip", "Did you mean 'joblib'? 'joblib' needs pip install 'laconic["),
        ("hydra/sweeper", "optuna", "'optuna' needs pip install 'laconic[optuna]'. Known: basic"),
        ("hydra/sweeper", "basik", "Did you mean 'basic'? Known: basic"),
        ("env", "optuna", "unknown option 'optuna' of group 'env'. Known: basic"),
    ],
)
def test_a_plugin_that_is_not_installed_is_told_with_its_extra(group, name, words):
    assert words in unknown_option(group, name, ["basic"])


def test_the_extras_of_plugins_are_those_of_the_package():
    import tomllib

    from laconic.experiments.command_line.mistakes import PLUGINS

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {extra for options in PLUGINS.values() for extra in options.values()}
    assert named <= set(extras["optional-dependencies"])
