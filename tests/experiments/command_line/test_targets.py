"""A user's own class by its `_target_`: settings that it does not take are dropped."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from pettingzoo import AECEnv, ParallelEnv

from laconic.envs.errors import SettingError
from laconic.envs.library.commons import Commons
from laconic.experiments.command_line import tree
from laconic.experiments.command_line.targets import (
    check_environments,
    check_learner,
    finalize_config,
    names_taken,
    part_name,
    typed_keys,
)
from laconic.experiments.command_line.tree import (
    CONF,
    allow_unlisted,
    declared,
    dotted,
    plain,
    record_of,
)
from laconic.learners.prices.schedule import Fixed

YAML = """
env:
  _target_: laconic.envs.make
  name: gsm8k
  rounds: 2
  reward: {price: 0.5}
  first: ${.name}
steps: 3
learner: {_target_: mine.Learner, _partial_: true, rate: "${steps}"}
"""


class Base:
    def __init__(self, rounds=1, *, first=""):
        self.rounds = rounds


class Mixed:
    """Without a constructor of its own."""


class Own(Mixed, Base):
    def __init__(self, price=0.0, **passed_on):
        super().__init__(**passed_on)


def function(name, **others):
    return name


OWN = f"{__name__}.Own"


@pytest.fixture
def cfg():
    config = OmegaConf.create(YAML)
    OmegaConf.set_struct(config, True)
    return config


def settled(cfg, *overrides):
    """Return the keys of `env` and the notes after `finalize_config`."""
    cfg.env._target_ = OWN
    notes = finalize_config(cfg, list(overrides))
    return [key for key in cfg.env if key != "_target_"], notes


def test_a_class_is_asked_for_its_names_and_those_that_it_passes_on():
    assert names_taken(OWN) == {"price", "rounds", "first"}
    assert names_taken(f"{__name__}.function") is None
    assert names_taken("no_such.Thing") is None


def test_settings_of_the_class_before_are_left_out_and_said_once(cfg):
    keys, notes = settled(cfg, f"env._target_={OWN}", "steps=3")
    assert keys == ["rounds", "first"]
    assert notes == [
        f"note: {OWN} does not take env.name, env.reward, left out;"
        " kept as in the yaml files: env.rounds, env.first"
    ]
    # It referred to the name, which is gone.
    assert cfg.env.first == "gsm8k"


@pytest.mark.parametrize("form", ["env._target_", "+env._target_", "++env._target_"])
def test_typed_settings_stay_even_if_the_class_does_not_take_them(cfg, form):
    keys, _ = settled(cfg, f"{form}={OWN}", "env.reward.price=1", "+env.rounds=3")
    assert keys == ["rounds", "reward", "first"]


def test_an_override_may_be_a_mapping(cfg):
    keys, _ = settled(cfg, "~env", f"+env={{_target_: {OWN}, reward: {{price: 1}}}}")
    assert keys == ["rounds", "reward", "first"]
    assert typed_keys(["+a={b: {c: 1}}", "~d", "e/f=g"]) == {"a", "a.b", "a.b.c", "e", "e.f"}


def test_an_option_of_a_group_drops_what_an_experiment_set_for_another_one():
    recipe = ["experiment=recipes/gpu_24gb", "engine=own"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=recipe)
        notes = finalize_config(cfg, recipe)
    assert list(cfg.engine) == ["_target_"]
    assert [note.partition(" does not take ")[2] for note in notes[:1]] == [
        "engine.start, engine.arguments, left out"
    ]


def test_nothing_is_left_out_of_a_class_that_no_override_names(cfg):
    keys, notes = settled(cfg, "env.rounds=3")
    assert keys == ["name", "rounds", "reward", "first"] and notes == []
    assert finalize_config(cfg, ["learner._target_=mine.Learner"]) == [] and "rate" in cfg.learner


@pytest.mark.parametrize("node", [None, {"price": 1}])
def test_a_group_that_was_deleted_needs_a_class(cfg, node):
    OmegaConf.set_struct(cfg, False)
    del cfg.env
    if node:
        cfg.env = node
    with pytest.raises(SettingError, match=r"^~env leaves no class; add \+env\._target_="):
        finalize_config(cfg, ["~env"])


class World(ParallelEnv):
    possible_agents = ["a"]


class Turns(AECEnv):
    possible_agents = ["a"]


def test_environments_are_parallel_and_each_is_a_new_one():
    check_environments([World(), World()], "mine.World")
    check_environments([], "mine.World")
    with pytest.raises(SettingError, match="mine.Learner made a Learner: it has no possible_agent"):
        check_environments([Learner()], "mine.Learner")
    with pytest.raises(SettingError, match="made a Turns: put it through .*aec_to_parallel"):
        check_environments([Turns()], "mine.Turns")
    with pytest.raises(SettingError, match="made a Commons: name a function that returns .*make"):
        check_environments([Commons()], "mine.Commons")
    with pytest.raises(SettingError, match="mine.world returned the same environment again"):
        check_environments([World()] * 2, "mine.world")


class Learner:
    def update(self, groups):
        return {}


def test_a_learner_has_an_update_and_a_price_that_is_a_schedule():
    learner = Learner()
    check_learner(learner, "mine.Learner")
    learner.price = Fixed()
    check_learner(learner, "mine.Learner")
    learner.price = 0.1
    with pytest.raises(SettingError, match="mine.Learner is a float. Give it another name"):
        check_learner(learner, "mine.Learner")
    with pytest.raises(SettingError, match=r"update\(groups\).*; mine.Env made an Own without"):
        check_learner(Own(), "mine.Env")


def test_a_users_classes_train_by_their_targets_alone(run, small, my_package, rows, tmp_path):
    folder = tmp_path / "run"
    sizes = [text for text in small if not text.startswith(("env.", "learner"))]
    chosen = ["env._target_=my_package.Password", "learner._target_=my_package.BestOfGroup"]
    # Its learner's yaml sets a budget and a reward, which the environment does not take.
    method = ["learner=agent_gspo", "train.steps=1", "train.evaluate_every=null"]
    outcome = run("train", *chosen, *method, *sizes, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("note: my_package.Password does not take env.name") == 1
    assert outcome.err.count("note: my_package.BestOfGroup does not take learner.") == 1
    assert "learner/imitated" in rows(folder / "metrics.jsonl")[-1]
    settings = OmegaConf.load(folder / "config.yaml")
    assert dict(settings.env) == {"_target_": "my_package.Password", "rounds": 2}


def test_a_typed_setting_that_the_class_does_not_take_is_the_users_mistake(
    run, my_package, tmp_path
):
    chosen = ["env._target_=my_package.Password", "+env.prise=1", "agent=scripted"]
    outcome = run("evaluate", *chosen, f"hydra.run.dir={tmp_path}")
    assert outcome.code == 1
    assert "unknown config key 'env.prise'. Did you mean 'env.price'?" in outcome.message


def test_an_object_that_is_no_learner_is_refused_by_the_program(run, small, my_package, tmp_path):
    chosen = ["~learner", "+learner._target_=my_package.Password"]
    sizes = [text for text in small if not text.startswith("learner")]
    outcome = run("train", *chosen, *sizes, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "my_package.Password made a Password without `update`" in outcome.message


def test_what_no_yaml_shows_needs_no_plus_sign():
    cfg, record = plain(tree.compose("train", str(CONF), [])), record_of("train")
    hidden = sorted({*declared(cfg, record)} - {*dotted(cfg)})
    assert len(hidden) > 40
    typed = [f"{key}=7" for key in hidden]
    assert allow_unlisted(typed) == [f"++{text}" for text in typed]


def test_a_chosen_member_without_weights_is_not_frozen():
    member = {"_target_": "laconic.extras.api.ApiTeam", "model": "m", "frozen": True}
    cfg = OmegaConf.create({"agent": {"members": {"solver": member}}})
    (note,) = finalize_config(cfg, ["agent@agent.members.solver=api"])
    assert note.endswith("ApiTeam does not take agent.members.solver.frozen, left out")
    assert cfg.agent.members.solver == {"_target_": member["_target_"], "model": "m"}


def test_settings_that_a_class_declares_need_no_plus_sign():
    typed = ["env.channel.lose=0.3", "agent.members.helper.frozen=true", "report=false"]
    assert allow_unlisted(["agent=mixed", *typed]) == [
        "agent=mixed",
        *(f"++{text}" for text in typed),
    ]
    # A mapping sets all of a hidden part; what is shown, undeclared, signed or a flag stays.
    assert allow_unlisted(["agent.lora={rank: 4}"]) == ["++agent.lora={rank: 4}"]
    others = ["seed=1", "env=math", "+env.mine=1", "~env.team", "--cfg", "reporter=1", "env.x=1"]
    assert allow_unlisted(others) == others
    # Another class declares other settings.
    mine = [f"env._target_={OWN}", "env.first=me"]
    assert allow_unlisted(mine) == [mine[0], "++env.first=me"]
    assert allow_unlisted(mine[1:]) == mine[1:]


def test_the_words_of_a_switch_mean_true_or_false():
    words = ["report=False", "report=no", "report=0", "report=off", "agent.frozen=N", "resume=no"]
    assert allow_unlisted(words) == [
        *["++report=false"] * 4,
        "++agent.frozen=false",
        "resume=false",
    ]
    assert allow_unlisted(["++report=yes", "report=1"]) == ["++report=true"] * 2
    # Neither a number nor another word is a switch; a sweep of both values stays one.
    others = ["++report=maybe", "++report=true,false", "resume=runs/a", "seed=no", "report"]
    assert allow_unlisted(others) == others


OPTION = {"_target_": "laconic.learners.algorithms.group.GroupLearner"}
MINE = {"_target_": "mine.learners.Mine"}


@pytest.mark.parametrize(
    ("group", "settings", "choice", "overrides", "name"),
    [
        ("learner", OPTION, "rloo", ["learner=rloo"], "rloo"),
        ("learner", MINE, "gspo", ["learner._target_=mine.learners.Mine"], "mine.learners.Mine"),
        ("learner", MINE, "gspo", ["+learner._target_=mine.learners.Mine"], "mine.learners.Mine"),
        # An experiment may name the class, of which the overrides say nothing.
        ("learner", MINE, "gspo", ["experiment=mine"], "mine.learners.Mine"),
        # An option of the user's own is called as it was chosen.
        ("learner", MINE, "mine", ["learner=mine"], "mine"),
        # Another class of this package is no gspo either.
        ("learner", OPTION, "gspo", ["learner._target_=..."], "group.GroupLearner"),
        ("learner", OPTION, None, [], "group.GroupLearner"),
        ("env", {"_target_": "laconic.envs.make", "name": "math"}, "gsm8k", [], "math"),
        ("env", {"_target_": "mine.Env", "name": "gsm8k"}, "gsm8k", [], "mine.Env"),
        ("env", {"_target_": "mine.Env"}, "meetings", ["env=meetings"], "meetings"),
        ("agent", {"_target_": "mine.Team"}, "tiny", [], "mine.Team"),
        ("optimizer", {"_target_": "torch.optim.SGD"}, "adamw", ["optimizer._target_=x"],
         "optim.SGD"),
        ("optimizer", {"_target_": "torch.optim.AdamW"}, "adamw", ["optimizer.lr=1"], "adamw"),
        ("learner", {}, None, [], ""),
    ],
)  # fmt: skip
def test_a_part_is_called_by_its_option_or_by_the_class_in_its_place(
    group, settings, choice, overrides, name
):
    assert part_name(group, settings, choice, overrides) == name


@pytest.mark.parametrize("price", [5, 0.2])
def test_a_price_of_a_learner_is_answered_with_the_key_of_the_price(price):
    cfg = OmegaConf.create({"env": {}, "agent": {}, "learner": {"price": price}})
    with pytest.raises(SettingError, match=f"set env.reward.price={price}$"):
        finalize_config(cfg, [f"learner.price={price}"])
