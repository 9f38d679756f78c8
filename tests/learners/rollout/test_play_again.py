"""Episodes played again, by the replies that were given in them."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.budget import Budget
from laconic.learners.episode import Turn
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play, replies_of


class Talker:
    """Says its words, by agent and round, and records its requests."""

    def __init__(self, **words):
        self.words, self.calls = words, []

    def reply(self, requests, *, seed, greedy):
        self.calls.append(list(requests))
        return [self._one(request) for request in requests]

    def _one(self, request):
        count = len(request.history)
        words = self.words.get(request.agent, ())
        message = words[count] if count < len(words) else f"word {count}"
        return Reply(message, (count + 1,), (count + 10, 2), (-0.5, -0.25))


def everyone(env, policy):
    return dict.fromkeys(env.possible_agents, policy)


def test_a_reply_is_given_again_as_it_was_written(make_env):
    env = make_env(budget=Budget(message=3))
    talker = Talker(solver_0=("one two three four five", "7"))
    episode = play([env], everyone(env, talker), [Start(0, "fruit")], seed=0)[0]
    replies = replies_of(episode.turns)
    assert replies["solver_0", 0] == Reply("one two three four five", (1,), (10, 2), (-0.5, -0.25))
    silent = Talker()
    again = play([env], everyone(env, silent), [Start(0, "fruit", replies)], seed=1)[0]
    assert (again, silent.calls) == (episode, [])


def test_a_turn_that_does_not_say_what_was_written_gives_its_message():
    assert replies_of([Turn("a", 2, "hm")]) == {("a", 2): Reply("hm")}


@pytest.mark.parametrize(
    ("greedy", "start", "expected"),
    [
        (False, None, [False, False, False]),
        (False, 1, [False, True, True]),
        (False, 0, [True, True, True]),
        (True, 2, [True, True, True]),
    ],
)
def test_rounds_are_greedy_from_the_one_that_is_named(make_env, greedy, start, expected):
    class Watcher(Talker):
        def reply(self, requests, *, seed, greedy):
            records.append(greedy)
            return super().reply(requests, seed=seed, greedy=greedy)

    records: list[bool] = []
    env = make_env(rounds=3)
    play([env], everyone(env, Watcher()), [Start(0)], seed=0, greedy=greedy, greedy_from=start)
    assert records == expected
