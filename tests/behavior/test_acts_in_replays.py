"""Counterfactual credit keeps an agent's act and removes its message."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.extras.analysis.demand_measure import worths
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import silence
from laconic.learners.rollout.play import Start, play

SETTINGS = {"talk": "published", "months": 2, "topology": "complete"}


class Talker:
    """fisher_0 proposes 10 each and passes the word to who ends the talk; who hears it obeys."""

    def reply(self, requests, *, seed, greedy):
        return [Reply(self.said(request)) for request in requests]

    def said(self, request):
        facts = request.info["facts"]
        if facts["harvest"]:
            text = "10 each" in " ".join((*request.texts, request.text))
            fair = text or facts["month"] == 0 or request.agent == "fisher_0"
            return f"> catch {10 if fair else 20}"
        return "10 each.\n> next fisher_4" if request.agent == "fisher_0" else "> end"


@pytest.fixture
def players():
    env = envs.make(
        "commons", free=True, tasks=2, reward={"price": 1.0, "normalizer": 120}, **SETTINGS
    )
    return Players([env], dict.fromkeys(env.possible_agents, Talker()))


def test_the_credit_of_a_message_is_what_its_words_changed_and_not_its_act(players):
    (group,) = silence()(*players, [Start(0)], 2, seed=0)
    turns = group.episodes[0].turns
    (turn_of_round,) = [turn for turn in turns if turn.message and turn.round == 1]
    assert (turn_of_round.agent, turn_of_round.act) == ("fisher_0", "> next fisher_4")
    # Heard by four, the stock lasts: 50 units a month, of 120 each. Unheard, the four want 80 and
    # the first 10 of 100: 90 units in all instead of 50. Three tokens cost 1/120 each.
    assert turn_of_round.credit == pytest.approx(((50 - 90) / 120, 3 / 120), rel=1e-9)
    assert all(turn.credit == (0.0, 0.0) for turn in turns if not turn.message)


def test_the_worth_of_beginnings_keeps_the_act_too(players):
    starts = [Start(0)]
    episodes = play(*players, starts, seed=0, greedy=True)
    result, _ = worths(players, starts, episodes, players.environments[0].tokenize)
    first = next(message for message in result if message.turn.round == 1)
    assert len(first.pieces) == 3
    # A worth holds no price; only the whole proposal is understood.
    assert first.team[1] == 0.0
    assert first.team[2] == pytest.approx((50 - 90) / 120, rel=1e-9)
