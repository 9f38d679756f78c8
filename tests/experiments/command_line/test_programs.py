"""Programs and configurations that packages register, and the errors of broken ones."""

from __future__ import annotations

from importlib import metadata

import pytest
from hydra import compose, initialize_config_dir
from places import CONF, EXTRAS_CONF, configs

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import programs, tree
from laconic.experiments.command_line.programs import PROGRAMS, Program, config_folders
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.session import rules
from laconic.learners import metrics
from laconic.learners.episode import Episode, Turn
from laconic.packages import registered


def test_a_package_adds_a_program(register):
    text = (
        "from laconic.experiments.command_line.programs import Program\n"
        "HELLO = Program('say hello', 'my_programs.hello')\n"
    )
    register(programs.PROGRAM_GROUP, "hello", "my_programs:HELLO", {"my_programs.py": text})
    assert programs.names()[-1] == "hello"
    assert programs.find("hello") == Program("say hello", "my_programs.hello")


def test_a_program_of_the_core_keeps_its_name(register):
    register(programs.PROGRAM_GROUP, "train", "my_train:TRAIN")
    assert programs.find("train") is PROGRAMS["train"]
    assert programs.names().count("train") == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [("no_such_module:IT", "which cannot be imported"), ("json:dumps", "must name a Program")],
)
def test_an_object_that_is_no_program_is_refused_with_its_entry_point(register, value, message):
    register(programs.PROGRAM_GROUP, "broken", value)
    with pytest.raises(SettingError, match=message):
        programs.find("broken")


def test_a_package_adds_a_rule_that_may_end_a_run(register):
    text = (
        "from laconic.experiments.session.rule_kinds import Guard\n"
        "class Never(Guard):\n"
        "    setting, reason = 'learner.mine.guard', 'it never works'\n"
        "    def observe(self, step, row): return f'step {step} failed'\n"
        "    def holds(self): return True\n"
        "    def figure(self): return 'none'\n"
    )
    register(rules.GROUP, "never", "my_rules:Never", {"my_rules.py": text})
    judged = rules.Rules(rules.Context())
    assert judged.observe(3, {}) == ["step 3 failed"]
    assert judged.guards() == {"learner.mine.guard": "it never works"}


def test_a_package_adds_metrics_of_what_its_agents_add_to_turns(register):
    text = (
        "import numpy as np\n"
        "from laconic.envs.declarations import Metric\n"
        "from laconic.learners.metrics import FeatureMetrics\n"
        "def columns(episodes):\n"
        "    moods = [[t.extra['mood'] for t in e.turns if 'mood' in t.extra] for e in episodes]\n"
        "    return [('good_mood', np.array([*map(sum, moods)]), np.array([*map(len, moods)]))]\n"
        "MOOD = FeatureMetrics({'good_mood': Metric('Share of turns.', True)}, columns)\n"
    )
    register(metrics.GROUP, "mood", "my_metrics:MOOD", {"my_metrics.py": text})
    turns = [Turn("a", n, "x", extra={"mood": good}) for n, good in enumerate((1, 0, 1, 1))]
    assert metrics.summarize([Episode("t", (*turns, Turn("b", 0, "x")), {})])["good_mood"] == 0.75
    assert metrics.is_share("good_mood") and metrics.bounds("good_mood") == (0.0, 1.0)
    # Nobody declares what another feature adds.
    assert metrics.summarize([Episode("t", (Turn("a", 0, "x", extra={"other": 1}),), {})])


def test_a_package_adds_configurations(register):
    text = "# A learner of my own.\ndefaults: [gspo, _self_]\ncredit: own\n"
    files = {"my_conf/learner/mine.yaml": text, "my_conf/__init__.py": ""}
    register(programs.CONFIG_GROUP, "mine", "my_conf", files)
    assert tree.RegisteredFolders is not None
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", ["learner=mine"])
    assert cfg.learner.credit == "own" and "advantages" in cfg.learner


def test_a_package_says_how_a_warm_start_teaches_its_environment(register):
    files = {
        "my_conf/__init__.py": "",
        "my_conf/env/mine.yaml": "defaults: [signal, _self_]\nname: mine\n",
        "my_conf/warm_start/mine.yaml": (
            "train: {steps: 5}\nnew: {agent: {model_config: {hidden: 32}}}\n"
        ),
    }
    register(programs.CONFIG_GROUP, "mine", "my_conf", files)
    overrides = ["experiment=warm_start", "env=mine"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        finalize_config(cfg := compose("train", overrides), overrides)
        finalize_config(plain := compose("train", overrides[1:]), overrides[1:])
    assert (cfg.train.steps, cfg.agent.model_config.hidden) == (5, 32)
    assert plain.train.steps == 60


def test_a_package_of_configurations_that_is_gone_is_named(register):
    register(programs.CONFIG_GROUP, "gone", "no_such_package")
    with pytest.raises(SettingError, match="'no_such_package', which cannot be found"):
        config_folders()


def test_a_clone_without_metadata_finds_the_extras(monkeypatch):
    monkeypatch.setattr(metadata, "entry_points", lambda group: metadata.EntryPoints())
    config_folders.cache_clear()
    registered.cache_clear()
    assert set(registered(programs.PROGRAM_GROUP)) >= {"watch", "measure-speed"}
    assert config_folders() == (EXTRAS_CONF,)
    config_folders.cache_clear()
    registered.cache_clear()


def test_every_program_with_a_configuration_has_one_yaml():
    loaded = [program for name in programs.names() if (program := programs.find(name))]
    expected = {program.config for program in loaded if program.config}
    assert expected == {*configs("*.yaml")}
