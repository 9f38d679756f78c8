"""Entries: checks of their settings, and entries of trained runs."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.compare.entries import Entry, entries_of_runs, read_entries


def read(entries, runs=None):
    return read_entries(OmegaConf.create({"entries": entries, "compare": {"runs": runs}}))


def test_entries_are_read_in_their_order_and_not_resolved():
    entries = read({"b": {"layout": "alone", "env": {"rounds": "${x.y}"}}, "a": {}})
    assert [entry.name for entry in entries] == ["b", "a"]
    assert entries[0].env == {"rounds": "${x.y}"} and entries[1] == Entry("a")


def test_a_comparison_of_nothing_is_refused_but_runs_are_something():
    with pytest.raises(SettingError, match="needs an entry"):
        read({})
    assert read({}, runs=["outputs/a"]) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agents": 1}, "agents must be null or a whole number of at least 2; got 1"),
        ({"agents": True}, "got True"),
        ({"votes": 0}, "votes, unless it is matched, must be null or a whole number of at least 1"),
        ({"greedy": "yes"}, "greedy must be null, true or false"),
        ({"say": 3}, "say must be text"),
        ({"say": ["hm", 3]}, "or a list of texts"),
        ({"silenced": "helper_0"}, "silenced must be a list of agents; got 'helper_0'"),
        ({"env": {"tasks": 3}}, "cannot set 'tasks'"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name(settings, words):
    with pytest.raises(SettingError, match=words):
        Entry("mine", **settings)


def test_a_name_that_could_be_another_folder_is_refused():
    for name in ("", "../up", "a/b", ".hidden"):
        with pytest.raises(SettingError, match="names a folder"):
            Entry(name)


@pytest.mark.parametrize("settings", [{"layout": "circle"}, {"script": "shouting"}])
def test_unknown_layouts_and_scripts_are_refused(settings):
    with pytest.raises(UnknownNameError):
        Entry("mine", **settings)


def test_only_a_matched_vote_is_matched():
    assert Entry("a", votes="matched").matched
    assert not Entry("a", votes=3).matched and not Entry("a").matched


def test_an_entry_with_a_matched_cap_is_matched_and_other_budgets_are_none():
    assert Entry("a", env={"budget": {"episode": "matched"}}).matched
    budgets = (None, 5, {"episode": 42})
    assert not any(Entry("a", env={"budget": budget}).matched for budget in budgets)


@pytest.fixture
def run_folder(tmp_path):
    def call(name):
        folder = tmp_path / name
        (folder / "policy").mkdir(parents=True)
        (folder / "config.yaml").write_text("env: {name: gsm8k, rounds: 3}\nagent: {}\n")
        return str(folder)

    return call


def of_runs(runs, used_names=(), env="gsm8k"):
    cfg = OmegaConf.create({"env": {"name": env}, "compare": {"runs": runs}})
    return entries_of_runs(cfg, used_names)


def test_runs_of_a_list_are_called_after_their_folders(run_folder):
    runs = [run_folder(name) for name in ("a/7", "b/7", "b/8")]
    entries = of_runs(runs)
    assert [entry.name for entry in entries] == ["7", "b_7", "8"]
    assert entries[0].env == {"rounds": 3}
    assert entries[0].agent == {"model": f"{runs[0]}/policy"} and entries[0].source == runs[0]
    with pytest.raises(SettingError, match="a run and an entry are both called '8'"):
        of_runs(runs, {"8"})
    with pytest.raises(SettingError, match=r"runs of env=math, .* is of env=gsm8k"):
        of_runs(runs, env="math")


def test_runs_with_names_keep_them_and_none_are_none(run_folder):
    assert [entry.name for entry in of_runs({"mine": run_folder("a")})] == ["mine"]
    assert of_runs(None) == []
    with pytest.raises(SettingError, match="must be a list of run folders"):
        of_runs("outputs/a")


def test_a_run_that_has_not_finished_has_no_policy_to_play(tmp_path):
    (tmp_path / "config.yaml").write_text("env: {name: gsm8k}\n")
    with pytest.raises(SettingError, match="has no folder 'policy'"):
        of_runs([str(tmp_path)])
