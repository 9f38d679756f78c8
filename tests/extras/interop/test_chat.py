"""Episodes as chat JSON Lines and back."""

from __future__ import annotations

import json
import math

import pytest

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import read_rows
from laconic.extras.interop import chat
from laconic.extras.interop.chat import (
    RecordedEpisode,
    chat_rows,
    read_chat,
    recorded_episodes,
    write_chat,
    write_evaluation,
)
from laconic.learners.episode import Episode, Parts, Turn
from laconic.learners.interfaces import Usage

TURNS = (
    Turn("helper_0", 0, "six", (1, 2), (3, 4), (-0.1, -1 / 3), 1, True, read="Ann has 6."),
    Turn("helper_1", 0, "", (1,), (8, 7), (-0.5, -1e-9), 0, False, trained=False, read="Rain."),
    Turn(
        "solver_0",
        1,
        "#### 6",
        (5,),
        (6,),
        (-0.25,),
        2,
        None,
        cut=True,
        written="#### 66",
        credit=Parts(1.0, 0.25),
        usage=Usage(5, 3, 2, 1, 0.25),
        read="helper_0: six\u2028",
        truncated=True,
        thought="hm",
        tokens_thought=1,
        act="[bet]",
        version=3,
        feedback="Revise.",
        extra={"feature": {"count": 3}},
    ),
)
AGENTS = ("helper_0", "helper_1", "solver_0")
EPISODE = Episode(
    "t/1",
    TURNS,
    {agent: (-0.04, 1.0) for agent in AGENTS},
    1.0,
    True,
    "6",
    False,
    {"helper_0": 1, "helper_1": 0, "solver_0": 2},
    {"solver_0": 2},
    {"solver_0": 1},
    {"facts_told": 0.5},
    {agent: (0.0, 1.0) for agent in AGENTS},
    {agent: (0.04, 0.0) for agent in AGENTS},
    2.0,
    True,
    True,
    "solved",
    "team",
    "answer",
    topology=({"solver_0": AGENTS[1:]}, {}),
    price_share=0.25,
    weight=0.5,
    chance=0.25,
)
ENV = {
    "topology": "star",
    "budget": {"message": 24, "episode": None},
    "schedule": [["helper"], "solver"],
}
RECORDED = (RecordedEpisode(EPISODE, 7, ENV), RecordedEpisode(Episode("t/2", (), {}), 0, ENV))


def test_the_round_trip_loses_nothing(tmp_path) -> None:
    # Every field has a value other than its default, so that none can be dropped unseen.
    for record in (EPISODE, TURNS[2]):
        for field in record.__dataclass_fields__.values():
            if field.name not in ("truncated", "informed", "trained"):
                assert getattr(record, field.name) != field.default, field.name
    path = tmp_path / "chat.jsonl"
    # Three agents spoke in the first episode, and the second has one line without an agent.
    assert write_chat(path, RECORDED) == 4
    assert read_chat(path) == list(RECORDED)


def test_a_line_is_a_conversation_that_other_tools_read() -> None:
    rows = list(chat_rows(RECORDED[0], 0))
    assert [row["agent"] for row in rows] == list(AGENTS)
    assert rows[0]["messages"] == [
        {"role": "user", "content": "Ann has 6."},
        {"role": "assistant", "content": "six"},
    ]
    # Silence is an empty message.
    assert rows[1]["messages"][1] == {"role": "assistant", "content": ""}
    assert [bool(row["details"]) for row in rows] == [True, False, False]
    assert json.loads(rows[0]["details"])["env"] == ENV


def test_a_conversation_of_several_rounds_keeps_the_order_of_all_turns(tmp_path) -> None:
    turns = tuple(Turn(agent, round, f"{agent}{round}") for round in (0, 1) for agent in AGENTS)
    recorded = RecordedEpisode(Episode("t", turns, {}))
    (first, *_) = chat_rows(recorded, 0)
    assert [turn["place"] for turn in first["turns"]] == [0, 3] and len(first["messages"]) == 4
    write_chat(tmp_path / "chat.jsonl", [recorded])
    assert read_chat(tmp_path / "chat.jsonl") == [recorded]


def test_numbers_that_are_not_finite_become_nan(tmp_path) -> None:
    odd = Episode("t", (), {"a": (math.inf, 1.0)}, math.nan)
    write_chat(tmp_path / "chat.jsonl", [RecordedEpisode(odd)])
    assert "NaN" not in (tmp_path / "chat.jsonl").read_text()
    (read,) = read_chat(tmp_path / "chat.jsonl")
    assert math.isnan(read.episode.score) and math.isnan(read.episode.rewards["a"][0])


def test_an_evaluation_is_made_of_it_with_tokens_and_environment(tmp_path) -> None:
    assert write_evaluation(tmp_path / "run", RECORDED) == 2
    assert recorded_episodes(tmp_path / "run") == list(RECORDED)
    row = read_rows(tmp_path / "run" / "episodes.jsonl")[0]
    assert (row["place"], row["seed"], row["task"]) == (0, 7, "t/1")
    with pytest.raises(SettingError, match="exists already"):
        write_evaluation(tmp_path / "run", RECORDED)


def spoiled(change) -> str:
    rows = [json.loads(json.dumps(row)) for row in chat_rows(RECORDED[0], 0)]
    change(rows)
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[1].update(details=rows[0]["details"]), "line 2 .*details twice"),
        (lambda rows: rows[0].update(details=""), "none of its lines has details"),
        (lambda rows: rows.pop(1), "turns are not complete"),
        (lambda rows: rows[0]["messages"].pop(), "line 1 .*a user and an assistant message"),
        (lambda rows: rows[2].update(agent=3), "line 3 .*expected a number as episode"),
        (lambda rows: rows[0]["turns"][0].update(round="x"), "line 1 .*expected int for 'round'"),
        (lambda rows: rows[0]["turns"][0].update(evil=1), "line 1 .*no field 'evil'"),
        (lambda rows: rows[0]["turns"][0].update(reply_ids=[1]), "line 1 .*one log-probability"),
        (
            lambda rows: rows[0].update(details='{"seed": -1, "env": {}, "episode": {}}'),
            "TypeError",
        ),
        (lambda rows: rows[0].update(details="[" * 200), "line 1 "),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_line(tmp_path, change, words) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(spoiled(change))
    with pytest.raises(SettingError, match=words):
        read_chat(path)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "NaN", "-Infinity", "1e400"])
@pytest.mark.parametrize(
    "field",
    ["rewards", "score", "measures", "max_reward", "tokens_said", "seed", "round", "logprobs"],
)
def test_a_number_that_no_field_can_hold_is_refused_in_one_line(tmp_path, field, number) -> None:
    rows = list(chat_rows(RECORDED[0], 0))
    details = json.loads(rows[0]["details"])
    changes = {
        "rewards": {"rewards": {AGENTS[0]: ["@"]}},
        "measures": {"measures": {"m": "@"}},
        "tokens_said": {"tokens_said": {AGENTS[0]: "@"}},
    }
    if field == "seed":
        details["seed"] = "@"
    elif field == "round":
        rows[0]["turns"][0]["round"] = "@"
    elif field == "logprobs":
        rows[0]["turns"][0]["behavior_logprobs"][0] = "@"
    else:
        details["episode"] |= changes.get(field, {field: "@"})
    rows[0]["details"] = json.dumps(details)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path = tmp_path / "chat.jsonl"
    path.write_text(text.replace('\\"@\\"', number).replace('"@"', number))
    with pytest.raises(SettingError, match="cannot be read|no conversation") as caught:
        read_chat(path)
    assert "\n" not in str(caught.value)


def test_a_link_and_a_folder_without_episodes_are_refused(tmp_path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(SettingError, match="cannot be read"):
        read_chat(tmp_path / "link")
    with pytest.raises(SettingError, match="expected the folder of an evaluation"):
        recorded_episodes(tmp_path)
    (tmp_path / "episodes.jsonl").write_text(json.dumps({"step": 0, "episode": {"task": 3}}) + "\n")
    with pytest.raises(SettingError, match="does not hold episodes"):
        recorded_episodes(tmp_path)


def test_the_program_writes_a_folder_or_one_line(tmp_path, capsys) -> None:
    path = tmp_path / "chat.jsonl"
    write_chat(path, RECORDED)
    chat.main([str(path), str(tmp_path / "run")])
    assert capsys.readouterr().out.startswith("2 episodes written to")
    with pytest.raises(SystemExit) as stopped:
        chat.main([str(tmp_path / "none"), str(tmp_path / "other")])
    assert stopped.value.code == 1 and capsys.readouterr().err.count("\n") == 1
