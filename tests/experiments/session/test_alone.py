"""One agent replaces a team: its instructions, and the parts of its text."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.experiments.session.alone import (
    append_instructions,
    cut_parts,
    parts_of,
    single_writer,
)

TEAM = {"concise": 1, "detailed": 1}


def writer():
    environment = envs.make(
        "tldr", free=True, tasks=3, team={"writer": 1}, answer="joint", rounds=1
    )
    single_writer(environment, TEAM)
    return environment


def test_the_writer_reads_every_duty_under_its_heading():
    text = writer().reset(seed=0)[0]["writer_0"]["text"]
    assert "### concise\nYou write the concise summary" in text
    assert "### detailed\nYou write the detailed summary" in text


def test_its_parts_are_graded_as_those_of_the_team():
    environment = writer()
    task = next(iter(environment.tasks.values()))
    team = envs.make("tldr", free=True, tasks=3, team=TEAM, answer="joint", rounds=1)
    drafts = {role: team.tasks[task.key].drafts[role][0] for role in TEAM}
    work = "".join(f"### {role}\n{text}\n" for role, text in drafts.items())
    alone = environment.benchmark.score(task, {"writer_0": work})
    together = team.benchmark.score(task, {f"{role}_0": text for role, text in drafts.items()})
    assert alone == together and alone.value > 2.5
    assert environment.benchmark.score(task, {}).value == 0.0


def test_the_benchmark_of_other_environments_stays_as_it_was():
    writer()
    benchmark = envs.benchmark("tldr")
    assert "all the parts" not in benchmark.instructions("concise")
    assert vars(benchmark) == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("## main:\nx\n###  AUX \ny", {"main": "x", "aux": "y"}),
        ("words before\n### aux\ny", {"aux": "y"}),
        ("### aux\n1\n### aux\n2", {"aux": "2"}),
        ("no heading", {"main": "no heading", "aux": "no heading"}),
        ("# main\nx = 1", {"main": "# main\nx = 1", "aux": "# main\nx = 1"}),
        ("## main part\nx", {"main": "## main part\nx", "aux": "## main part\nx"}),
    ],
)
def test_parts_stand_under_headings_and_all_is_every_part_without_any(text, parts):
    assert cut_parts(text, ("main", "aux")) == parts


def test_agents_of_one_role_have_headings_of_their_own():
    assert parts_of({"main": 1, "aux": 2}) == {
        "main": "main_0",
        "aux_0": "aux_0",
        "aux_1": "aux_1",
    }


def test_words_follow_the_role_except_in_the_brief_form():
    full = envs.make("gsm8k", free=True, tasks=2)
    append_instructions(full, "Think first.")
    observations, _ = full.reset(seed=0)
    assert all("Think first." in observation["text"] for observation in observations.values())
    brief = envs.make("gsm8k", free=True, tasks=2, instructions="brief")
    before = brief.reset(seed=0)[0]["solver_0"]["text"]
    append_instructions(brief, "Think first.")
    assert brief.reset(seed=0)[0]["solver_0"]["text"] == before


def society(**settings):
    return envs.make("gsm8k", free=True, tasks=2, team={"solver": 2}, answer="majority", **settings)


def test_each_agent_reads_only_its_own_words_of_a_list():
    plain, env = society(), society()
    append_instructions(env, ["You are easy-going.", "You are sure of yourself."])
    texts = {agent: observation["text"] for agent, observation in env.reset(seed=0)[0].items()}
    assert "easy-going" in texts["solver_0"] and "sure of" not in texts["solver_0"]
    before = plain.reset(seed=0)[0]["solver_0"]["text"]
    assert texts["solver_0"].replace("You are easy-going.\n", "") == before
    # What all read alike stays the beginning of all prompts.
    general = env.reset(seed=0)[1]["solver_0"]["general"]
    assert all(text.startswith(general) for text in texts.values()) and "easy" not in general


def test_words_for_more_agents_than_there_are_and_for_policies_that_read_none():
    with pytest.raises(SettingError, match="one for each of solver_0, solver_1; got 1"):
        append_instructions(society(), ["You are easy-going."])
    brief = society(instructions="brief")
    append_instructions(brief, ["You are easy-going.", ""])
    assert brief.notes == {}
