"""The program `compare`: its files, entries left out, and failures."""

from __future__ import annotations

import csv
import json
import signal
from contextlib import nullcontext as does_not_raise

import pytest
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.extras.compare.compare import check_reference
from laconic.extras.compare.entries import Entry
from laconic.learners.agents.scripted import ScriptedPolicy

SMALL = ["evaluation.tasks=6", "evaluation.batch=3", "threads=1"]
SCRIPTS = ["agent=scripted", *SMALL]


def compare(run, folder, *more, code=0):
    outcome = run("compare", *more, f"hydra.run.dir={folder}")
    assert outcome.code == code, outcome.err
    return outcome


def rows_of(folder):
    comparison = json.loads((folder / "comparison.json").read_text())
    return {row["name"]: row for row in comparison["entries"]}


@pytest.fixture(scope="module")
def all_entries(run, tmp_path_factory):
    """Compare every entry on GSM8K with scripted agents, and one that makes no sense for it."""
    folder = tmp_path_factory.mktemp("compare") / "run"
    return folder, compare(run, folder, *SCRIPTS, "+entries.concatenation.layout=concatenation")


def test_every_entry_is_a_row_in_the_order_asked_for(all_entries):
    rows = rows_of(all_entries[0])
    names = "team single cot self_consistency debate discussion sequential"
    scripts = "oracle telegraph verbose random silent"
    assert list(rows) == [*names.split(), *scripts.split(), "concatenation"]
    left_out = [name for name, row in rows.items() if row["state"] != "finished"]
    assert left_out == ["concatenation"]
    assert rows["concatenation"]["state"] == "left out"
    for name, row in rows.items():
        if name != "concatenation":
            assert row["episodes"] == 6
            assert {"accuracy", "tokens_said", "tokens_read", "silence_rate", "seconds"} <= set(
                row["figures"]
            )


def test_agents_that_know_the_answers_are_correct_in_every_layout(all_entries):
    rows = rows_of(all_entries[0])
    for name in "team single cot self_consistency debate discussion sequential oracle".split():
        assert rows[name]["figures"]["accuracy"]["mean"] == 1.0, name
    assert rows["silent"]["figures"]["accuracy"]["mean"] == 0.0
    assert rows["silent"]["figures"]["silence_rate"]["mean"] == 1.0
    assert rows["silent"]["changes"]["accuracy"]["mean"] == -1.0


def test_the_files_hold_rates_of_silence_and_of_told_facts(all_entries):
    with open(all_entries[0] / "comparison.csv", newline="") as file:
        table = {row["entry"]: row for row in csv.DictReader(file)}
    names = [f"{name}_mean" for name in ("silent_if_uninformed", "spoke_if_informed", "facts_told")]
    rates = {entry: [row[name] for name in names] for entry, row in table.items()}
    assert rates["oracle"] == ["1.0", "1.0", "1.0"]
    assert rates["silent"] == ["1.0", "0.0", "0.0"]
    # Nobody who speaks here was dealt a part of the task.
    assert rates["single"] == rates["debate"] == ["", "", ""]


def test_a_proportion_has_its_wilson_interval_and_a_time_one_over_batches(all_entries):
    figures = rows_of(all_entries[0])["oracle"]["figures"]
    # Wilson for 6 of 6: 6 / (6 + 1.96 ** 2).
    assert figures["accuracy"]["low"] == pytest.approx(6 / (6 + 1.959964**2), rel=1e-6)
    assert figures["seconds"]["count"] == 2
    assert figures["seconds"]["low"] <= figures["seconds"]["mean"] <= figures["seconds"]["high"]


def test_the_table_is_on_the_console_in_markdown_and_csv_and_the_picture_beside_it(all_entries):
    folder, outcome = all_entries
    text = (folder / "comparison.md").read_text()
    assert text.startswith("gsm8k: 6 episodes per entry, at most 192 tokens said")
    assert "; changes are from team, by task\n" in text
    assert "| oracle | 100.0 % [61.0, 100.0] | 0.0 points [" in text
    assert "- concatenation: left out: " in text and "concatenation: left out: " in outcome.out
    assert "[61.0, 100.0]" in outcome.out and f"written to {folder}" in outcome.out
    with open(folder / "comparison.csv", newline="") as file:
        table = {row["entry"]: row for row in csv.DictReader(file)}
    assert float(table["oracle"]["accuracy_mean"]) == 1.0
    assert table["concatenation"]["accuracy_mean"] == ""
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_every_entry_has_a_folder_like_that_of_an_evaluation(all_entries, rows):
    folder = all_entries[0] / "debate"
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    assert rows(folder / "evaluations.jsonl")[0]["episodes"] == 6
    agents = {message["agent"] for message in rows(folder / "transcripts.jsonl")[0]["messages"]}
    assert agents == {"solver_0", "solver_1", "solver_2"}


def test_self_consistency_says_about_as_many_tokens_as_the_reference(all_entries):
    rows = rows_of(all_entries[0])
    row = rows["self_consistency"]
    tokens = {name: row["figures"].get("tokens_said", {}).get("mean") for name, row in rows.items()}
    per_vote = tokens["self_consistency"] / row["votes"]
    assert row["votes"] >= 2
    assert abs(tokens["self_consistency"] - tokens["team"]) <= per_vote / 2


def test_a_joint_work_has_the_baselines_of_magrpo_and_its_score_beside_the_accuracy(run, tmp_path):
    folder = tmp_path / "run"
    compare(run, folder, "env=tldr", *SCRIPTS, "entry=[team,single,concatenation,debate]")
    rows = rows_of(folder)
    assert rows["debate"]["state"] == "left out"
    for name in ("team", "single", "concatenation"):
        assert rows[name]["figures"]["score"]["mean"] > 2.5, name
    assert "| accuracy | score | change |" in (folder / "comparison.md").read_text()


@pytest.mark.slow
def test_the_shipped_policy_is_compared_with_a_note_about_new_layouts(run, tmp_path):
    folder = tmp_path / "run"
    small = ["evaluation.tasks=3", "evaluation.batch=3", "threads=1"]
    compare(run, folder, *small, "entry=[team,single,cot,self_consistency]", "compare.most_votes=2")
    rows = rows_of(folder)
    assert rows["team"]["figures"]["accuracy"]["mean"] == 1.0 and rows["team"]["notes"] == []
    assert "not for this layout" in rows["single"]["notes"][0]
    assert rows["cot"]["state"] == "left out" and "reads no instructions" in rows["cot"]["notes"][0]
    assert rows["self_consistency"]["votes"] == 2


def test_a_users_own_entry_takes_one_line(run, policy_folder, tmp_path):
    folder = tmp_path / "run"
    outcome = compare(
        run,
        folder,
        "entry=oracle",
        f"+entries.mine.agent.model={policy_folder}",
        "+entries.mine.env.topology=complete",
        "+entries.mine.agent.sampling.max_reply_tokens=6",
        *SMALL,
    )
    assert list(rows_of(folder)) == ["oracle", "mine"]
    assert rows_of(folder)["mine"]["state"] == "finished"
    assert "mine" in outcome.out


def test_a_trained_run_is_a_row_with_its_own_team(run, trained, tmp_path):
    folder = tmp_path / "run"
    runs = f"compare.runs={{mine: {trained[0]}}}"
    compare(run, folder, "entry=oracle", runs, *SMALL, "seed=1")
    config = (folder / "mine" / "config.yaml").read_text()
    assert f"model: {trained[0].resolve()}/policy" in config
    assert rows_of(folder)["mine"]["state"] == "finished"


def test_two_copies_of_one_run_play_with_each_other_without_a_gap(run, trained, tmp_path):
    folder = tmp_path / "run"
    runs = f"compare.runs={{a: {trained[0]}, b: {trained[0]}}}"
    outcome = compare(run, folder, "entry=[]", runs, "compare.cross=solver", *SMALL)
    assert list(rows_of(folder)) == ["a+a", "a+b", "b+a", "b+b"]
    with open(folder / "crossplay.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["figure"] for row in rows] == ["accuracy", "score", "tokens_said"]
    assert [float(row["gap"]) for row in rows] == [0.0] * 3
    assert "cross-play: accuracy" in outcome.out


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({"votes": "matched"}, does_not_raise()),
        ({"votes": 3}, does_not_raise()),
        (
            {"name": "team", "votes": "matched"},
            pytest.raises(SettingError, match="must be an entry that is not matched"),
        ),
    ],
)
def test_a_matched_vote_needs_a_reference_that_is_not_matched(settings, outcome):
    cfg = OmegaConf.create({"compare": {"reference": "team"}})
    entries = [Entry(**{"name": "vote", "layout": "alone", **settings})]
    if "name" not in settings:
        entries.append(Entry("team"))
    with outcome:
        check_reference(cfg, entries)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("compare.runs=[nowhere]", "'nowhere' is no run folder"),
        ("compare.reference=nobody", "unknown entry in compare.reference"),
        ("compare.budget=0", "compare.budget must be null or a whole number"),
        ("compare.equal=2", "compare.equal must be true or false"),
        ("+entries.mine.layout=circle", "unknown layout in entries.mine.layout 'circle'"),
        ("+entries.mine.topology=star", "unknown setting in entries.mine 'topology'"),
        ("+entries.mine.env.source=elsewhere", "all entries play the same tasks"),
        ("evaluation.split=test", "unknown evaluation.split 'test'"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_played(run, tmp_path, wrong, words):
    outcome = compare(run, tmp_path / "run", *SCRIPTS, wrong, code=1)
    assert words in outcome.message
    assert not (tmp_path / "run" / "comparison.json").exists()


def test_a_failed_entry_is_a_row_with_its_reason_and_the_others_are_kept(run, tmp_path):
    folder = tmp_path / "run"
    more = ["entry=[team,self_consistency,oracle]", "+entries.team.agent.model=/nowhere"]
    outcome = compare(run, folder, *SMALL, *more, code=1)
    rows = rows_of(folder)
    assert rows["oracle"]["state"] == "finished"
    assert rows["team"]["state"] == "failed" and "/nowhere" in rows["team"]["notes"][0]
    assert "must be finished; got 'failed'" in rows["self_consistency"]["notes"][0]
    assert "2 of 3 entries failed: team, self_consistency" in outcome.message
    assert "Traceback" in (folder / "team" / "error.txt").read_text()
    assert "| team | failed |" in (folder / "comparison.md").read_text()


def test_a_comparison_is_not_mixed_with_another_or_resumed_with_other_settings(run, tmp_path):
    folder = tmp_path / "run"
    compare(run, folder, *SCRIPTS, "entry=silent")
    outcome = compare(run, folder, *SCRIPTS, "entry=silent", code=1)
    assert "holds another comparison; pass resume=true" in outcome.message
    other = compare(run, folder, *SCRIPTS, "entry=silent", "seed=7", "resume=true", code=1)
    assert "1 of 1 entries failed" in other.message
    assert "another configuration" in rows_of(folder)["silent"]["notes"][0]


def test_an_interrupted_comparison_keeps_the_finished_entries(run, tmp_path, monkeypatch):
    reply, calls = ScriptedPolicy.reply, []

    def interrupted(self, requests, **settings):
        calls.append(len(requests))
        # An entry is two batches of two rounds, and a first episode that is not timed.
        if len(calls) == 9:
            signal.raise_signal(signal.SIGINT)
        return reply(self, requests, **settings)

    monkeypatch.setattr(ScriptedPolicy, "reply", interrupted)
    folder = tmp_path / "run"
    more = [*SCRIPTS, "entry=[oracle,silent,verbose]"]
    assert compare(run, folder, *more, code=130).err.endswith("interrupted\n")
    assert list(rows_of(folder)) == ["oracle"]
    assert (folder / "comparison.png").exists()
    monkeypatch.undo()
    first = (folder / "oracle" / "row.json").read_bytes()
    compare(run, folder, *more, "resume=true")
    assert list(rows_of(folder)) == ["oracle", "silent", "verbose"]
    assert (folder / "oracle" / "row.json").read_bytes() == first
    assert len((folder / "silent" / "evaluations.jsonl").read_text().splitlines()) == 1


def test_a_users_own_measure_is_a_column_and_writes_at_the_end(run, outside, tmp_path):
    mine = ["+compare.columns.mine._target_=after.Longest", "+compare.columns.mine.at_least=1"]
    outcome = compare(run, tmp_path / "run", *SCRIPTS, "entry=[oracle,silent]", *mine)
    comparison = json.loads((tmp_path / "run" / "comparison.json").read_text())
    assert comparison["agents"] == 4
    rows = rows_of(tmp_path / "run")
    longest = {name: row["figures"]["longest_message"]["mean"] for name, row in rows.items()}
    assert longest["oracle"] > 1 and longest["silent"] == 1
    assert "longest message" in outcome.out
    assert (tmp_path / "run" / "longest.txt").read_text() == "oracle silent"
