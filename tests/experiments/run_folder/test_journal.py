from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.journal import Journal, as_plain, digest, episode_from
from laconic.learners.episode import Episode, Turn
from laconic.learners.interfaces import Reply, Request, Usage
from laconic.learners.rollout.play import Start

STARTS = [Start(0, "a"), Start(1, "b"), Start(2, "c")]
ASKED = Request("solver_0", "now", (Reply("said"),), ("before",), max_tokens=9)
REPLY = Reply("two", usage=Usage(10, 2, calls=1, cost=0.5))


def episode(task, score=1.0):
    turns = (
        Turn("helper_0", 0, "2", (1, 2), (3,), (-0.5,), tokens_said=1, informed=True),
        Turn(
            *("solver_0", 1, "#### 2"),
            cut=True,
            written="#### 22",
            usage=Usage(5, 3, 2, 1, 0.25),
            extra={"feature": {"count": 7}},
        ),
    )
    rewards = {"helper_0": (0.1, 1.0), "solver_0": (0.0, 1.0)}
    tokens_said = {"helper_0": 1, "solver_0": 3}
    return Episode(task, turns, rewards, score, True, "2", False, tokens_said, {"helper_0": 7})


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


def test_an_episode_is_the_same_after_its_way_through_a_file(folder):
    journal = Journal(folder, STARTS)
    journal.keep_episode(2, episode("c", math.nan))
    journal.keep_episode(1, episode("b"))
    again = Journal(folder, STARTS)
    assert [episode.task for episode in again.played] == ["b", "c"]
    assert as_plain(again.episodes[1]) == as_plain(episode("b"))
    assert again.episodes[1].turns[1] == episode("b").turns[1]
    # In journals of earlier versions features had fields of their own, or there were none.
    plain = as_plain(episode("a"))
    for turn in plain["turns"]:
        turn["feature"] = turn.pop("extra").get("feature")
    assert [turn.extra for turn in episode_from(plain).turns] == [{}, {"feature": {"count": 7}}]
    # Token ids stay behind.
    assert again.episodes[1].turns[0].reply_ids == ()
    assert math.isnan(again.episodes[2].score)
    assert episode_from(as_plain(episode("a"))).returns == episode("a").returns
    graph = ({"solver_0": ("helper_0",)}, {})
    drawn = json.loads(json.dumps(as_plain(replace(episode("a"), topology=graph))))
    assert episode_from(drawn).topology == graph
    # A journal of an earlier version.
    del drawn["topology"]
    assert episode_from(drawn).topology == ()
    assert again.missing(0, 2) == [0] and again.missing(1, 9) == []


def test_a_reply_is_given_in_its_own_conversation_and_in_no_other(folder):
    journal = Journal(folder, STARTS)
    journal.keep_reply(1, 3, ASKED, REPLY)
    start = Journal(folder, STARTS).start(1)
    assert (start.seed, start.task) == (1, "b")
    reply = start.replies["solver_0", 3]
    assert reply(ASKED) == REPLY
    for other in (
        Request("solver_0", "else", ASKED.history, ASKED.texts, 9),
        Request("solver_0", "now", (Reply("unsaid"),), ASKED.texts, 9),
        Request("solver_0", "now", ASKED.history, ("behind",), 9),
        Request("solver_0", "now", ASKED.history, ASKED.texts, 8),
    ):
        assert reply(other) is None and digest(other) != digest(ASKED)
    assert not Journal(folder, STARTS).start(0).replies


def test_an_incomplete_line_is_dropped_and_later_rows_are_complete(folder):
    Journal(folder, STARTS).keep_episode(0, episode("a"))
    Journal(folder, STARTS).keep_reply(1, 0, ASKED, REPLY)
    for path in (folder.episodes, folder.replies):
        whole = path.read_text()
        path.write_text(whole + whole[: len(whole) // 2])
    journal = Journal(folder, STARTS)
    journal.keep_episode(1, episode("b"))
    journal.keep_reply(2, 0, ASKED, REPLY)
    again = Journal(folder, STARTS)
    assert [episode.task for episode in again.played] == ["a", "b"]
    assert again.start(1).replies and again.start(2).replies


@pytest.mark.parametrize(
    "starts", [STARTS[:1], [Start(0, "a"), Start(1, "x")], [Start(0, "a"), Start(5, "b")]]
)
def test_episodes_of_other_tasks_are_refused(folder, starts):
    Journal(folder, STARTS).keep_episode(1, episode("b"))
    with pytest.raises(SettingError, match="the task source has changed"):
        Journal(folder, starts)


def test_a_reward_that_was_not_finite_is_read_as_nan():
    plain = as_plain(replace(episode("a"), task_rewards={"helper_0": (1.0, math.nan)}))
    plain["task_rewards"]["helper_0"] = [1.0, None]
    rewards = episode_from(plain).task_rewards["helper_0"]
    assert rewards[0] == 1.0 and math.isnan(rewards[1])
