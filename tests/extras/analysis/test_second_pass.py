"""A draft is written, revised and emptied; the solved tasks are known beforehand."""

from __future__ import annotations

import csv
import random

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.experiments.session.team_layouts import LAYOUTS, LayoutError, TeamSettings
from laconic.extras.analysis import coordination
from laconic.extras.analysis.second_pass import (
    SecondPass,
    empty,
    read_drafts,
    save_drafts,
    with_drafter,
    write,
)
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.episode import Episode, Turn
from laconic.learners.rollout.play import Start, play

TASKS = 800
WEAK, STRONG, KEPT, MENDED, DISTRACTED = 0.5, 0.7, 0.9, 0.4, 0.6
"""Accuracy of the weak model, and of the strong one alone and after a right, a wrong and an empty
draft."""
ENV = {"team": {"solver": 1, "helper": 3}, "answer": "solver", "information": "split"}


def script(condition, chance):
    """Answers rightly with the chance that what it has read gives it."""

    def says(task, request, generator):
        draw = random.Random(f"{condition} {task.key}").random()
        return task.answer_text if draw < chance(task, request.text) else "#### 0.123"

    return says


def of_strong(task, text):
    """Return the strong agent's chance of a correct answer, given the draft."""
    draft = text.partition("drafter_0: ")[2]
    if not draft:
        return STRONG
    if "x" in draft:
        return DISTRACTED
    return KEPT if task.answer_text == draft else MENDED


def played(name, layout, chance, folder, blank=False):
    """Plays an entry and leaves its files, as a comparison does."""
    env = envs.make(
        "gsm8k", free=True, tasks=TASKS, **{**ENV, **LAYOUTS[layout](TeamSettings.of(ENV), None)}
    )
    policies = {"solver_0": ScriptedPolicy(script(name, chance), env.tasks)}
    if layout == "revise":
        drafts = read_drafts(folder / "draft")
        drafts = empty(drafts, env, str.split) if blank else drafts
        policies = with_drafter(policies, drafts)
    starts = [Start(number, key) for number, key in enumerate(env.tasks)]
    episodes = play([env], policies, starts, seed=0)
    (folder / name).mkdir()
    save_drafts(folder / name, episodes)
    words = coordination.vectorizer(None, str.split)
    coordination.save(folder / name, coordination.measure(episodes, words, env))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four conditions, played."""
    folder = tmp_path_factory.mktemp("compare")
    played("draft", "pass", lambda task, text: WEAK, folder)
    played("revise", "revise", of_strong, folder)
    played("resolve", "pass", of_strong, folder)
    played("scaffold", "revise", of_strong, folder, blank=True)
    return folder


def test_all_four_conditions_have_the_figures_of_the_scripts(folder):
    write(folder, ["draft", "revise", "resolve", "scaffold"])
    with open(folder / "second_pass.csv", encoding="utf-8", newline="") as file:
        parts = {row["part"]: row for row in csv.DictReader(file)}
    revised = WEAK * KEPT + (1 - WEAK) * MENDED
    closed = {
        "re_solving": STRONG - WEAK,
        "scaffold": DISTRACTED - STRONG,
        "content": revised - DISTRACTED,
        "total": revised - WEAK,
    }
    for name, gain in closed.items():
        columns = ("gain", "gain_low", "gain_high")
        mean, low, high = (float(parts[name][column]) for column in columns)
        # 99.9 % in the place of the 95 % that are written.
        assert abs(mean - gain) < 1.7 * (high - low) / 2, name
        assert parts[name]["tasks"] == str(TASKS) and 0 < high - low < 0.1


def test_without_one_of_the_four_nothing_is_written(folder, tmp_path):
    write(tmp_path, ["draft", "revise", "resolve", "scaffold"])
    assert not list(tmp_path.iterdir())
    with pytest.raises(SettingError, match="must name four entries"):
        SecondPass(["draft"])


def test_a_pass_is_alone_and_a_revision_has_a_draft_first():
    alone = LAYOUTS["pass"](TeamSettings.of(ENV), None)
    second = LAYOUTS["revise"](TeamSettings.of(ENV), None)
    assert alone["team"] == {"solver": 1} and alone["information"] == "full"
    assert second["team"] == {"solver": 1, "drafter": 1}
    assert second["schedule"] == [["drafter"], ["solver"]]
    with pytest.raises(LayoutError, match="only the answer of one agent"):
        LAYOUTS["revise"](TeamSettings.of({"team": {"main": 1}, "answer": "joint"}), None)


def test_the_last_message_is_the_draft(tmp_path):
    turns = (Turn("solver_0", 0, "so"), Turn("solver_0", 1, "#### 9"))
    episodes = [Episode("one", turns, {}), Episode("two", (), {})]
    save_drafts(tmp_path, episodes)
    assert read_drafts(tmp_path) == {"one": "#### 9", "two": ""}


def test_an_emptied_draft_keeps_its_form_and_is_no_longer_than_it():
    env = envs.make("gsm8k", free=True, tasks=1)
    (key,) = env.tasks
    draft = "He has 4 + 5 eggs.\n  #### 9"
    blanks = empty({key: draft, "gone": "9"}, env, str.split)
    assert blanks == {key: "xx xxx x x x xxxxx\n  #### x"}
    # Letter for letter, what is crossed out has more tokens; it is cut.
    by_letter = empty({key: "9 8"}, env, lambda text: list(text.replace("9", "")))
    assert by_letter == {key: "x "}


def test_drafts_that_are_not_there_are_missed_by_name(tmp_path):
    with pytest.raises(SettingError, match="drafts of 'first', which has none"):
        read_drafts(tmp_path / "first")


def test_a_comparison_of_the_four_writes_the_parts_and_the_flow_of_answers(run, tmp_path):
    names = "revise,scaffold,draft,resolve,society"
    few = ["agent=scripted", "evaluation.tasks=6", "evaluation.batch=3", "threads=1"]
    outcome = run("compare", *few, f"entry=[{names}]", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    with open(tmp_path / "run" / "second_pass.csv", newline="") as file:
        parts = {row["part"]: float(row["gain"]) for row in csv.DictReader(file)}
    assert parts == {"re_solving": 0, "scaffold": 0, "content": 0, "total": 0}
    assert "re-solving" in outcome.out and (tmp_path / "run" / "flow.csv").exists()


def test_a_comparison_names_four_entries(run, tmp_path):
    outcome = run("compare", "compare.second_pass=[draft]", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and "compare.second_pass must name four entries" in outcome.message


def test_a_revision_without_drafts_is_a_row_with_its_reason(run, tmp_path):
    few = ["agent=scripted", "evaluation.tasks=2", "evaluation.batch=2", "threads=1"]
    outcome = run("compare", *few, "entry=[revise]", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1 and "revises the drafts of 'draft', which has none" in outcome.out
