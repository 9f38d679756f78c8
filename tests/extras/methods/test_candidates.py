"""AT-GRPO's tree: candidates of each state, the chosen ones, and trained turns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from laconic.envs.errors import SettingError
from laconic.extras.methods.candidates import Candidates, _TreeNode
from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Reply, Request
from laconic.learners.rollout.play import Start
from laconic.learners.training.sequences import sequences_of


class Deck:
    """Takes the next reply from each agent's deck of each round; greedily, says "left right"."""

    def __init__(self, **decks: Sequence[Sequence[str]]) -> None:
        self.decks = {agent: [list(words) for words in rounds] for agent, rounds in decks.items()}
        self.asked: list[tuple[str, int, tuple[str, ...], bool]] = []

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        return [self._one(request, greedy) for request in requests]

    def _one(self, request: Request, greedy: bool) -> Reply:
        round = len(request.history)
        messages = tuple(reply.message for reply in request.history)
        self.asked.append((request.agent, round, messages, greedy))
        message = "left right" if greedy else self.decks[request.agent][round].pop(0)
        return Reply(message, (5,), (len(message) + 1, 7), (-0.5, -0.5))


@pytest.fixture
def deck() -> Deck:
    # Three candidates each. In round 0 nothing is won, so silence is best; x has none, and of two
    # equal ones the first goes on. In round 1 z wins 6 with two words, the shorter of two ways.
    return Deck(
        x_0=[["a b", "c", "d"], ["", "", "e"]],
        y_0=[["f", "", "g"], ["h", "i", ""]],
        z_0=[["j", "k l", ""], ["left", "right left m", "left right"]],
    )


def play(relay, deck, price_share: float = 1.0) -> list[Group]:
    environments = [relay, type(relay)(), type(relay)()]
    policies = dict.fromkeys(relay.possible_agents, deck)
    starts = [Start(0, "t", price_share=price_share)]
    return Candidates()(environments, policies, starts, 3, seed=0)


@pytest.fixture
def groups(relay, deck) -> list[Group]:
    return play(relay, deck)


def test_in_an_update_that_charges_nothing_the_first_of_equal_candidates_goes_on(relay, deck):
    *_, last = play(relay, deck, price_share=0.0)
    assert said(last.episodes[0])[0] == {"x_0": "a b", "y_0": "f", "z_0": "j"}


def said(episode: Episode) -> list[dict[str, str]]:
    return [{t.agent: t.message for t in episode.turns if t.round == round} for round in (0, 1)]


def trained(episode: Episode) -> list[Turn]:
    return [turn for turn in episode.turns if turn.trained]


def test_no_starts_give_no_groups(relay, deck):
    assert Candidates()([relay], dict.fromkeys(relay.possible_agents, deck), [], 3, seed=0) == []


def test_every_agent_and_round_is_a_group_of_the_first_candidate_and_each_further_one(groups):
    assert [len(group.episodes) for group in groups] == [1 + 2] * 3 * 2
    assert [[said(episode)[0] for episode in group.episodes] for group in groups[:3]] == [
        [
            {"x_0": "a b", "y_0": "f", "z_0": "j"},
            {"x_0": "c", "y_0": "f", "z_0": "j"},
            {"x_0": "d", "y_0": "f", "z_0": "j"},
        ],
        [
            {"x_0": "a b", "y_0": "f", "z_0": "j"},
            {"x_0": "a b", "y_0": "", "z_0": "j"},
            {"x_0": "a b", "y_0": "g", "z_0": "j"},
        ],
        [
            {"x_0": "a b", "y_0": "f", "z_0": "j"},
            {"x_0": "a b", "y_0": "f", "z_0": "k l"},
            {"x_0": "a b", "y_0": "f", "z_0": ""},
        ],
    ]
    followed = [said(episode)[1]["z_0"] for group in groups[:3] for episode in group.episodes]
    assert followed == ["left right"] * 9


def test_the_best_candidate_of_each_agent_goes_on_and_the_first_of_equals(groups):
    # x: the pair costs 2, "c" and "d" 1. y and z: silence costs nothing.
    assert all(
        said(episode)[0] == {"x_0": "c", "y_0": "", "z_0": ""} for episode in groups[3].episodes
    )


def test_candidates_are_sampled_and_what_follows_is_greedy(groups, deck):
    assert {greedy for _, round, _, greedy in deck.asked if round == 0} == {False}
    followed = [greedy for _, round, _, greedy in deck.asked if round == 1]
    # Seven episodes of round 0 are played on by three agents; nine candidates are sampled later.
    assert (followed.count(True), followed.count(False)) == (21, 9)


def test_only_candidates_are_trained_each_once(groups):
    for place, group in enumerate(groups):
        turns = [turn for episode in group.episodes for turn in trained(episode)]
        round, agent = divmod(place, 3)
        assert [turn.round for turn in turns] == [round] * 3
        assert [turn.agent for turn in turns] == [("x_0", "y_0", "z_0")[agent]] * 3


def test_candidates_are_compared_with_those_of_their_agent_and_round(groups):
    sequences = [
        sequences_of(
            group,
            credit=own,
            advantages=Advantages(("task", "agent", "round"), "mean", "none"),
            unit="reply",
        )
        for group in groups
    ]

    def advantages(round: int, agent: str) -> list[float]:
        groups = sequences[3 * round : 3 * round + 3]
        of_round = [sequence for group in groups for sequence in group]
        return [sequence.advantage for sequence in of_round if sequence.agent == agent]

    # Round 0, what all are paid later drops out. x costs 2, 1, 1: the mean is -4/3.
    assert advantages(0, "x_0") == pytest.approx([-2 / 3, 1 / 3, 1 / 3])
    # Round 1: z is paid -1, 6 - 3 and 6 - 2; the mean is 2.
    assert advantages(1, "z_0") == pytest.approx([-3.0, 1.0, 2.0])
    later = [sequence for group in sequences[3:] for sequence in group]
    assert {sequence.round for sequence in later} == {1}
    # What was said before is context.
    assert all(sequence.generated == (False, False, False, False, True, True) for sequence in later)


@pytest.mark.parametrize(("credit", "goes_on"), [("own", ""), ("team", "left right 3 4 5 6 7")])
def test_the_best_is_chosen_by_the_credit(relay, credit, goes_on):
    # z pays 7 for its words and is paid 6; the team of three gains 18 - 7 together.
    relay.metadata = {**relay.metadata, "reward": "own"}
    quiet = [["", ""], ["", ""]]
    deck = Deck(x_0=quiet, y_0=quiet, z_0=[["", "n"], ["left right 3 4 5 6 7", ""]])
    policies = dict.fromkeys(relay.possible_agents, deck)
    collector = Candidates(credit)
    collector([relay], policies, [Start(0, "t")], 2, seed=0)
    assert relay.played[-1][-1]["z_0"] == goes_on
    # In each of two rounds the first candidates, and one more of each of three agents. The chosen
    # ones are played once more, which shows the end.
    assert len(relay.played) == 2 * (1 + 3) + 1
    assert collector.metrics == {"replays": 8}


def test_an_agent_without_tokens_has_one_reply_and_is_not_trained(relay, relayers, deck):
    policies = {"x_0": relayers(), "y_0": relayers(), "z_0": deck}
    groups = Candidates()([relay], policies, [Start(0, "t")], 3, seed=0)
    assert [len(group.episodes) for group in groups] == [3, 3]
    assert {t.agent for g in groups for e in g.episodes for t in trained(e)} == {"z_0"}


def test_a_team_without_tokens_gives_no_groups(relay, relayers):
    policies = dict.fromkeys(relay.possible_agents, relayers())
    assert Candidates()([relay], policies, [Start(0, "t")], 3, seed=0) == []


@pytest.mark.slow
def test_equal_seeds_give_equal_trees(make_env, make_policy):
    environments = [make_env() for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, make_policy(max_reply_tokens=6))

    def played(seed: int) -> list[Group]:
        return Candidates()(environments, policies, [Start(0), Start(1)], 2, seed=seed)

    assert played(3) == played(3)
    assert played(3) != played(4)


@pytest.mark.parametrize("credit", ["silence", "shapley", "rank"])
def test_candidates_take_no_credit_with_replays_of_its_own(credit):
    with pytest.raises(SettingError, match=f"choose learner.credit=own.*got '{credit}'"):
        Candidates(credit)


@pytest.mark.parametrize(("price", "chosen"), [(1.0, "short"), (0.5, "long")])
def test_the_best_candidate_pays_for_its_words(price, chosen):
    # The long one earns .5 at a cost of .6, the short one .1 at .05: -.1 and .05, or at half the
    # price .2 and .075.
    def played(message: str, pay: float, cost: float, solved: bool) -> Episode:
        return Episode(
            "t",
            (Turn("x_0", 0, message, (5,), (6, 7), (-0.5, -0.5)),),
            {"x_0": (pay - cost,)},
            solved=solved,
            task_rewards={"x_0": (pay,)},
            bills={"x_0": (cost,)},
            common=True,
            graded=True,
        )

    first = played("long", 0.5, price * 0.6, False)
    others = [played("short", 0.1, price * 0.05, False), played("", 0.0, 0.0, False)]
    others.append(played("", 0.0, 0.0, False))
    node = _TreeNode(Start(0, "t"), first, 0, [("x_0", episode) for episode in others])
    replies = node.best(own).replies
    assert [reply.message for reply in replies.values()] == [chosen]
