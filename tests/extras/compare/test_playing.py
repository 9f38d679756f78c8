"""Playing an entry: batches, times, samples of a vote, and notes for the reader."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.setup import make_team
from laconic.experiments.session.team_layouts import LayoutError
from laconic.extras.compare.arrange import arrange
from laconic.extras.compare.entries import Entry
from laconic.extras.compare.playing import play_entry
from laconic.extras.compare.rows import Row
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.metrics import Interval


@pytest.fixture
def played(tmp_path):
    """Plays an entry: its row, and its folder."""

    def call(entry, *overrides, reference=None, interrupt=None):
        chosen = ["agent=scripted", "evaluation.tasks=5", "evaluation.batch=2", *overrides]
        with initialize_config_dir(str(CONF), version_base="1.3"):
            cfg = compose("compare", overrides=chosen)
        counter = make_team(cfg).tokenize
        folder = RunFolder(tmp_path / "entry")
        team = dict(cfg.env.get("team") or {})
        with Interrupt() as own:
            row = play_entry(
                arrange(cfg, entry), entry, counter, team, folder, interrupt or own, reference
            )
        return row, folder

    return call


def test_a_row_is_over_all_tasks_with_a_time_for_each_batch(played, rows):
    row, folder = played(Entry("oracle", script="oracle"))
    assert (row.state, row.episodes, row.votes, row.script) == ("finished", 5, None, True)
    assert row.figures["accuracy"].mean == 1.0
    # Five tasks, at most two at a time: three batches.
    assert row.figures["seconds"].count == 3
    assert rows(folder.evaluations)[0]["episodes"] == 5
    assert rows(folder.metrics)[0]["eval/accuracy"] == 1.0


def test_a_matched_vote_spends_as_many_tokens_as_its_reference(played):
    entry = Entry("vote", layout="alone", votes="matched", greedy=False)
    single, _ = played(Entry("single", layout="alone", greedy=False))
    tokens = single.figures["tokens_said"].mean
    goal = Interval(3 * tokens, 0, 0, 5)
    row, _ = played(entry, reference=Row("team", "finished", figures={"tokens_said": goal}))
    assert row.votes == 3
    assert row.figures["tokens_said"].mean == pytest.approx(3 * tokens, rel=0.2)
    assert row.notes[-1].startswith("3 samples of") and row.notes[-1].endswith("of team")


@pytest.mark.parametrize(("script", "kind"), [("oracle", LayoutError), (None, SettingError)])
def test_only_a_script_that_cannot_play_the_environment_is_unfit_for_it(
    played, monkeypatch, script, kind
):
    def refuse(self, environment):
        raise SettingError("these tasks are not ours")

    monkeypatch.setattr(ScriptedTeam, "policies", refuse)
    with pytest.raises(kind, match="not ours"):
        played(Entry("one", script=script))


def test_a_policy_for_another_layout_gets_a_note(played):
    row, _ = played(Entry("one", layout="alone"), "agent=tiny")
    assert "not for this layout" in row.notes[0]


def test_an_interrupt_ends_it_between_batches(played):
    class Now(Interrupt):
        def is_set(self):
            return True

    with pytest.raises(KeyboardInterrupt):
        played(Entry("oracle", script="oracle"), interrupt=Now())


def test_silenced_agents_say_nothing_and_the_others_still_speak(played, rows):
    every = ["evaluation.tasks=20", "evaluation.transcripts=20"]
    row, folder = played(Entry("pruned", script="oracle", silenced=["helper_2"]), *every)
    speakers = {
        turn["agent"]
        for transcript in rows(folder.transcripts)
        for turn in transcript["messages"]
        if turn["text"]
    }
    assert speakers == {"helper_0", "helper_1", "solver_0"}
    # Two of three helpers hold what matters: without one of them about a third is solved.
    assert 0.0 < row.figures["accuracy"].mean < 0.7


def test_silencing_an_unknown_agent_is_refused(played):
    with pytest.raises(LayoutError, match="agents of solver_0, helper_0, .*; got helper_9"):
        played(Entry("pruned", script="oracle", silenced=["helper_9"]))


def test_a_matched_cap_is_the_mean_tokens_of_its_reference_rounded_up(played):
    entry = Entry("capped", script="verbose", env={"budget": {"episode": "matched"}})
    assert entry.matched
    goal = Interval(29.2, 0, 0, 5)
    row, _ = played(entry, reference=Row("short", "finished", figures={"tokens_said": goal}))
    assert row.notes == ("at most 30 tokens said, the mean of short",)
    assert row.figures["tokens_said"].mean <= 30
    assert row.figures["cut_rate"].mean > 0
