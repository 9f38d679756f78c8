"""Reading a run folder that is being written, and filters of episodes."""

from __future__ import annotations

import json

import pytest

from laconic.envs.dialogue.reward import Reward
from laconic.experiments.run_folder.records import TurnRecord
from laconic.extras.viewer.episodes import Episodes, Filter, collapsed, cost


@pytest.fixture
def episodes(folder):
    episodes = Episodes(folder)
    episodes.refresh()
    return episodes


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Filter(), ["0a", "0b", "4a", "4b"]),
        (Filter(solved="solved"), ["0a", "4a"]),
        (Filter(solved="unsolved", silent=True), ["0b", "4b"]),
        (Filter(silent=True), ["0b", "4a", "4b"]),
        (Filter(collapsed=True), ["0b"]),
        (Filter(step=4), ["4a", "4b"]),
        (Filter(words="NOTHING"), ["0a"]),
    ],
)
def test_filters(episodes, chosen, expected):
    admitted = [episode for episode in episodes.all if chosen.admits(episode)]
    assert [f"{episode.step}{episode.task}" for episode in admitted] == expected


def test_a_filter_is_described_in_words():
    assert str(Filter()) == ""
    chosen = Filter("unsolved", silent=True, collapsed=True, step=0, words="cup")
    assert str(chosen) == "unsolved, silent, collapsed, step 0, 'cup'"


def test_if_informed_agents_are_unknown_all_have_to_be_silent(folder, write_rows):
    row = json.loads((folder / "transcripts.jsonl").read_text().splitlines()[1])
    for message in row["messages"]:
        message.pop("informed", None)
    mute = {**row, "messages": [{**message, "text": ""} for message in row["messages"]]}
    write_rows(folder / "transcripts.jsonl", [row, mute])
    episodes = Episodes(folder)
    episodes.refresh()
    assert [collapsed(episode) for episode in episodes.all] == [False, True]


def test_control_characters_are_left_out(episodes):
    assert episodes.all[3].messages[0].text == "3 [31m4"


def test_the_price_is_that_of_the_step_and_else_that_of_the_configuration(folder, episodes):
    # Step 0 has no row of training: that of the first step; step 4 none of its own: the last.
    assert [episodes.reward(step) for step in (0, 4)] == [Reward(price=0.1, normalizer=50)] * 2
    (folder / "metrics.jsonl").unlink()
    fresh = Episodes(folder)
    fresh.refresh()
    assert fresh.reward(4) == Reward(price=0.5, normalizer=50)
    (folder / "config.yaml").write_text("env: [")
    assert Episodes(folder).reward(4) is None


def test_a_message_costs_its_tokens_and_its_thoughts():
    reply = TurnRecord("a_0", 0, "x", 20, False, None, False, "", "hm", 10)
    # 0.5 for 50 tokens: 20 said and half of 10 thought are 25 tokens.
    assert cost(reply, Reward(price=0.5, normalizer=50, thought_weight=0.5)) == pytest.approx(0.25)


def test_a_run_that_is_rewound_is_read_again(folder, episodes, write_rows):
    write_rows(folder / "transcripts.jsonl", [])
    assert episodes.refresh() and episodes.all == []


def test_a_folder_that_has_nothing_yet(tmp_path):
    episodes = Episodes(tmp_path)
    assert episodes.refresh() is False
    assert (episodes.all, episodes.steps, episodes.state, episodes.last_step) == ([], [], "", 0)
