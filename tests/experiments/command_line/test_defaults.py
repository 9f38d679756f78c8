"""Defaults of teams, learners and environments reach other groups; typed values win."""

from __future__ import annotations

import os

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from places import CONF, configs

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.envs.registry import recipes
from laconic.experiments.command_line.defaults import team_defaults
from laconic.experiments.command_line.targets import finalize_config, part_name
from laconic.experiments.command_line.tree import leaves
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.mixed import MixedTeam
from laconic.learners.agents.recipes import shipped
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.tiny import TinyTeam

RECIPES = recipes()

MESSAGE, EPISODE = "env.budget.message", "env.budget.episode"
STARTS = {path.stem: OmegaConf.load(path) for path in configs("warm_start/*.yaml").values()}
"""Environment -> what a warm start changes there."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Make a folder that a team of language models takes for a model; it is not loaded."""
    folder = tmp_path_factory.mktemp("model")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return str(folder)


def composed(*overrides):
    """Compose a training and apply the defaults; return the configuration and the notes."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=list(overrides))
        notes = finalize_config(cfg, overrides)
    return cfg, notes


def test_the_default_run_changes_nothing():
    cfg, notes = composed()
    assert notes == []
    assert (cfg.env.instructions, cfg.optimizer.lr, cfg.agent.sharing) == ("brief", 1e-4, "shared")


def test_a_language_model_raises_budgets_and_reads_full_instructions(model):
    cfg, notes = composed("agent=hf", f"agent.model={model}")
    values = {key: OmegaConf.select(cfg, key) for key in (MESSAGE, EPISODE, "env.instructions")}
    assert values == {MESSAGE: 255, EPISODE: 1020, "env.instructions": "full"}
    assert cfg.optimizer.lr == 1e-6
    assert f"note: {MESSAGE}=255, which suits the team" in notes and len(notes) == 4


@pytest.mark.parametrize(
    ("overrides", "message", "episode"),
    [
        # A larger cap stays, and an episode without a cap stays without one.
        (["env=tldr"], 256, None),
        (["env=humaneval"], 255, 1020),
        # What is typed stays.
        (["env.budget.message=9"], 9, 1020),
        (["env.budget={message: 9, episode: 5}"], 9, 5),
    ],
)
def test_budgets_are_raised_where_they_are_smaller(model, overrides, message, episode):
    cfg, _ = composed("agent=hf", f"agent.model={model}", *overrides)
    assert (cfg.env.budget.message, cfg.env.budget.episode) == (message, episode)


def test_an_experiment_wins_over_the_team(model):
    cfg, _ = composed("experiment=pretrained", f"agent.model={model}")
    assert (cfg.env.instructions, cfg.env.budget.message, cfg.optimizer.lr) == ("brief", 48, 1e-5)


def test_the_learner_says_how_agents_share_weights_unless_it_is_typed():
    cfg, notes = composed("learner=magrpo")
    assert cfg.agent.sharing == "separate"
    assert "note: agent.sharing=separate, as the learner asks" in notes
    assert composed("learner=magrpo", "agent.sharing=shared")[0].agent.sharing == "shared"
    assert composed("learner=magrpo", "learner.sharing=shared")[0].agent.sharing == "shared"


def test_the_divisor_of_dr_grpo_is_the_longest_reply():
    assert composed("learner=dr_grpo")[0].learner.objective.normalizer == 49
    cfg, _ = composed("learner=dr_grpo", "agent.sampling.max_reply_tokens=30")
    assert cfg.learner.objective.normalizer == 30
    assert "normalizer" not in composed("learner=gspo")[0].learner.objective


@pytest.mark.parametrize(("sharing", "rate"), [("shared", 1e-6), ("lora", 2e-5)])
def test_adapters_take_larger_steps_than_whole_models(model, sharing, rate):
    assert HFTeam(model, sharing=sharing).defaults()["optimizer.lr"] == rate


def test_a_mixed_team_has_the_largest_budget_and_the_defaults_of_its_trained_member(model):
    large, small = HFTeam(model, frozen=True), TinyTeam()
    stated = MixedTeam({"solver": large, "helper": small}).defaults()
    assert (stated[MESSAGE], stated["env.instructions"]) == (255, "brief")
    stated = MixedTeam({"solver": small, "helper": HFTeam(model)}).defaults()
    assert (stated["env.instructions"], stated["optimizer.lr"]) == ("brief", 1e-4)
    scripts = MixedTeam({"solver": ScriptedTeam(), "helper": ScriptedTeam("silent")}).defaults()
    assert scripts == {"env.instructions": "full"}


def test_a_team_without_defaults_or_that_cannot_be_found_states_none():
    for target in ("collections.OrderedDict", "no.such.Team"):
        assert team_defaults(OmegaConf.create({"_target_": target})) == {}
    assert team_defaults(None) == {}


@pytest.mark.parametrize("name", STARTS)
def test_a_warm_start_has_the_values_of_its_environment_and_typed_ones_win(name):
    """No key is mistyped, and what holds for fresh weights wins."""
    assert name in envs.names()
    warm = ("experiment=warm_start", f"env={name}")
    cfg, _ = composed(*warm)
    stated = OmegaConf.merge(STARTS[name], STARTS[name].get("new", {}))
    stated.pop("new", None)
    assert OmegaConf.merge(cfg, stated) == cfg
    keys = [key for key, _ in leaves(OmegaConf.to_container(stated)) if "._" not in key]
    typed, _ = composed(*warm, *(f"{key}=7" for key in keys))
    assert {OmegaConf.select(typed, key) for key in keys} == {7}


@pytest.mark.parametrize("name", [name for name in RECIPES if shipped(name)])
def test_a_shipped_policy_may_say_as_much_as_it_was_taught(name):
    taught = composed("experiment=warm_start", f"env={name}")[0].agent.sampling.max_reply_tokens
    assert (RECIPES[name].max_reply_tokens or 49) == taught


def test_a_warm_start_of_boxnet_is_small_and_keeps_what_was_typed():
    cfg, _ = composed("experiment=warm_start", "env=boxnet", "train.steps=1")
    assert (cfg.env.tasks, cfg.train.steps, cfg.train.tasks_per_step) == (20_000, 1, 2)
    assert (cfg.evaluation.tasks, cfg.agent.sampling.max_reply_tokens) == (1, 25)
    sizes = ("positions", "hidden", "layers", "heads", "intermediate")
    assert [cfg.agent.model_config[size] for size in sizes] == [4096, 64, 2, 2, 128]
    assert composed("experiment=warm_start", "env=boxnet")[0].train.steps == 300


def test_a_name_that_is_a_path_reads_no_file(tmp_path):
    (tmp_path / "mine.yaml").write_text("train: {steps: 7}")
    path = os.path.relpath(tmp_path / "mine", CONF / "warm_start")
    assert composed("experiment=warm_start", f"env.name='{path}'")[0].train.steps == 800


def test_without_hydra_the_values_are_the_same():
    warm = ("experiment=warm_start", "env=jury")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=list(warm))
    finalize_config(cfg, warm)
    assert cfg == composed(*warm)[0]


def test_other_environments_keep_the_common_values_of_a_warm_start():
    cfg, _ = composed("experiment=warm_start", "env=strategyqa")
    assert (cfg.env.tasks, cfg.train.steps, cfg.evaluation.tasks) == (200_000, 800, 100)
    cfg, _ = composed("experiment=warm_start", "env=gsm8k")
    assert (cfg.agent.model_config.hidden, cfg.learner.collect.teacher.terse) == (128, 0.2)
    assert cfg.optimizer.lr == 2e-3
    assert composed("env=math")[0].train.steps == 60


@pytest.mark.parametrize(
    ("target", "form"),
    [
        # One takes any name, one names the form, one does not take it, and one cannot be found.
        ("laconic.envs.make", "brief"),
        ("laconic.envs.DialogueEnv", "brief"),
        ("laconic.envs.wrappers.FullTranscript", None),
        ("no.such.World", None),
    ],
)
def test_a_class_that_the_user_names_has_the_form_of_its_team(model, target, form):
    own = ("~env", f"+env._target_={target}")
    cfg, notes = composed(*own)
    assert cfg.env == {"_target_": target, **({"instructions": form} if form else {})}
    assert ("note: env.instructions=brief, which suits the team" in notes) == bool(form)
    if form:
        assert composed(*own, "+env.instructions=short")[0].env.instructions == "short"
        language = composed(*own, "agent=hf", f"agent.model={model}")[0]
        assert language.env.instructions == "full" and "budget" not in language.env


def test_a_language_model_has_its_own_teacher(model):
    warm = ("experiment=warm_start", "env=sports", "agent=hf", f"agent.model={model}")
    cfg, _ = composed(*warm)
    teacher = cfg.learner.collect.teacher
    assert (teacher.silent_informed, teacher.silent_uninformed) == (0.0, 0.6)
    assert (cfg.learner.collect.others, cfg.optimizer.lr) == (0.8, 1e-4)
    # Of the environment, and not of fresh weights there.
    assert (teacher.terse, cfg.train.steps) == (0.4, 1000)
    cfg, _ = composed(*warm, "learner.collect.teacher.silent_uninformed=0.9")
    assert cfg.learner.collect.teacher.silent_uninformed == 0.9


@pytest.mark.parametrize(
    ("name", "tasks"),
    [(name, tasks) for name in STARTS if (tasks := OmegaConf.select(STARTS[name], "env.tasks"))],
)
@pytest.mark.slow
def test_an_environment_has_as_many_tasks_as_its_warm_start_asks_for(name, tasks):
    cfg, _ = composed("experiment=warm_start", f"env={name}")
    generator = OmegaConf.to_container(cfg.env.generator, resolve=True)
    environment = envs.make(name, free=True, tasks=cfg.env.tasks, generator=generator)
    assert len(environment.tasks) == tasks


@pytest.mark.parametrize(
    "overrides",
    [["learner=gspo"], ["learner=rloo", "agent=tiny"], ["learner.collect=null"], ["learner=mappo"]],
)
def test_a_warm_start_without_demonstrations_is_refused(overrides):
    with pytest.raises(SettingError, match="teaches by demonstrations, but the learner collects"):
        composed("experiment=warm_start", "env=gsm8k", *overrides)
    # Of a learner of the user's own nothing is known.
    composed("experiment=warm_start", "env=gsm8k", "learner._target_=mine.Learner")
    composed("experiment=warm_start", "env=gsm8k", "learner/collect=own_best")
    composed("agent=new", "learner=gspo")


MUON = "laconic.learners.training.optimizers.Muon"


@pytest.mark.parametrize(
    ("typed", "target", "rate", "name"),
    [
        ([], MUON, 5e-3, "muon"),
        (["optimizer.lr=0.001"], MUON, 1e-3, "muon"),
        # Another optimizer has the rate of the team, or its own.
        (["optimizer=adamw"], "torch.optim.AdamW", 2e-3, "adamw"),
        (["optimizer=adamw", "optimizer.lr=0.1"], "torch.optim.AdamW", 0.1, "adamw"),
        (["optimizer=muon"], MUON, 2e-3, "muon"),
        (["optimizer._target_=torch.optim.SGD"], "torch.optim.SGD", 2e-3, "optim.SGD"),
    ],
)
def test_a_warm_start_brings_its_optimizer_unless_another_is_chosen(typed, target, rate, name):
    overrides = ["experiment=warm_start", "env=hops", *typed]
    cfg, _ = composed(*overrides)
    assert (cfg.optimizer._target_, cfg.optimizer.lr) == (target, rate)
    chosen = "muon" if "optimizer=muon" in typed else "adamw"
    assert part_name("optimizer", cfg.optimizer, chosen, overrides) == name
    assert composed("env=hops")[0].optimizer._target_ == "torch.optim.AdamW"


def test_an_option_of_env_is_no_class_that_the_user_names(model):
    # `instructions` is set where the node lacks it only for a class that the user named.
    overrides = ["env=matrix", "~env.instructions", "agent=hf", f"agent.model={model}"]
    assert "instructions" not in composed(*overrides)[0].env
