"""Adoption, genealogy, fit and dynamics of a falsehood, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.envs.task import Falsehood
from laconic.extras.analysis.spread import (
    Genealogy,
    Links,
    asserts,
    figures,
    fit,
    genealogy,
    growth,
    impact,
    links,
)
from laconic.learners.episode import Episode, Turn

LIE = Falsehood(0, "Ann has 8 pens.", "8", "11")
AGENTS = ("a_0", "b_0", "c_0")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("Ann has 8 pens.", "8", True),
        ("8", "8", True),
        ("It is $8, all in all.", "8", True),
        ("ANN HAS BLUE PENS", "blue", True),
        ("Ann has 18 pens.", "8", False),
        ("Ann has 8.5 pens.", "8", False),
        ("Ann has 1,8 pens or 8,000.", "8", False),
        ("Ann has 8th place.", "8", False),
        ("Ann does not have 8 pens.", "8", False),
        ("Ann hasn't 8 pens.", "8", False),
        ("It is wrong that Ann has 8 pens.", "8", False),
        ("That is not so. Ann has 8 pens.", "8", True),
        ("Nothing is known of 8 pens.", "8", True),
        ("5 rather than 8", "8", False),
        ("", "8", False),
    ],
)
def test_a_value_is_asserted_as_a_whole_word_without_a_negation(text, value, expected):
    assert asserts(text, value) is expected


def turn(agent: str, round: int, message: str, read: str = "") -> Turn:
    return Turn(agent, round, message, tokens_said=len(message.split()), read=read)


def stated(message: str) -> str | None:
    return message.partition("#### ")[2] or None


# a says it; b repeats it, c says nothing; then a drops it, b is silent, c states what follows from
# it; at last c has read three messages of the five.
TURNS = [
    turn("a_0", 0, "Ann has 8 pens."),
    turn("b_0", 0, "Hello."),
    turn("c_0", 0, ""),
    turn("a_0", 1, "Hm.", "b_0: Hello."),
    turn("b_0", 1, "So it is 8.", "a_0: Ann has 8 pens."),
    turn("c_0", 1, "", "a_0: Ann has 8 pens.\nb_0: Hello."),
    turn("a_0", 2, "It is not 8.", "b_0: So it is 8."),
    turn("b_0", 2, "", "a_0: Hm."),
    turn("c_0", 2, "#### 11", "a_0: Hm.\nb_0: So it is 8."),
    turn("a_0", 3, "Well.", "c_0: #### 11"),
    turn("b_0", 3, "8 it is.", "c_0: #### 11"),
    turn("c_0", 3, "#### 11", "a_0: It is not 8."),
]


def test_a_genealogy_by_hand():
    line = genealogy(TURNS, AGENTS, LIE, stated)
    said = [(carrier.agent, carrier.round, carrier.parents) for carrier in line.carriers]
    assert said == [
        ("a_0", 0, ()),
        ("b_0", 1, (0,)),
        ("c_0", 2, (0, 1)),
        # b has read the message of c; its own is none of its parents.
        ("b_0", 3, (0, 2)),
        ("c_0", 3, (0, 1)),
    ]
    assert [carrier.tokens for carrier in line.carriers] == [4, 4, 2, 3, 2]
    # a, then b (a dropped it), then b and c: silence changes nothing.
    assert line.coverage == pytest.approx((1 / 3, 1 / 3, 2 / 3, 2 / 3))
    # a dropped it in round 1; b and c kept it in round 3.
    assert line.dropped == (1, 3)
    # After one message: b adopted it; a, who had dropped it, did not in rounds 2 and 3. After two:
    # c adopted it, who was silent in round 1 and had read a's message then.
    assert line.exposed == ((1, 3), (1, 1))
    assert (line.depth, line.width, line.first_repeater) == (4, 2, "b_0")


def test_more_messages_than_other_agents_count_as_so_many():
    turns = [
        turn("a_0", 0, "8"),
        turn("a_0", 1, "8"),
        turn("a_0", 2, "8 again"),
        turn("b_0", 3, "No.", "a_0: 8\na_0: 8\na_0: 8 again"),
    ]
    # Three messages of one agent, in a team of three.
    assert genealogy(turns, AGENTS, LIE, stated).exposed == ((0, 0), (0, 1))


def test_without_a_falsehood_every_figure_is_zero():
    line = genealogy(TURNS, AGENTS, None, stated)
    assert line == Genealogy((), (0.0,) * 4, (0, 0), ((0, 0), (0, 0)))
    assert (line.depth, line.width, line.first_repeater, line.final) == (0, 0, "", 0.0)
    rewards = {agent: (0.0,) for agent in AGENTS}
    nobody = links([dict.fromkeys(AGENTS, ())], AGENTS)
    result = figures([Episode("t", tuple(TURNS), rewards, answer="11")], [line], [None], nobody)
    assert {figure.mean for figure in result.values()} == {0.0}
    assert set(result) == {
        *("fault_infected", "fault_coverage", "fault_tokens", "fault_rounds"),
        *("fault_depth", "fault_width"),
    }
    assert genealogy([], AGENTS, LIE, stated).final == 0.0


def test_figures_of_one_episode_by_hand():
    line = genealogy(TURNS, AGENTS, LIE, stated)
    rewards = {agent: (0.0,) for agent in AGENTS}
    episode = Episode("t", tuple(TURNS), rewards, answer="11")
    chain = links([{"a_0": ["b_0"], "b_0": ["a_0", "c_0"], "c_0": ["b_0"]}], AGENTS)
    result = figures([episode], [line], [LIE], chain)
    means = {name.removeprefix("fault_"): figure.mean for name, figure in result.items()}
    assert means == pytest.approx(
        {
            "infected": 1.0,
            "coverage": 2 / 3,
            # 4 + 4 + 2 + 3 + 2 words in rounds 0 to 3.
            "tokens": 15,
            "rounds": 4,
            "depth": 4,
            "width": 2,
            # With q = 1 - β, the likelihood (1 - q) q² (1 - q²) is largest where 5 q² + q = 2.
            "beta": 1 - (41**0.5 - 1) / 10,
            "delta": 1 / 3,
            # The spectral radius of a chain of three is the root of 2.
            "growth": (1 - (41**0.5 - 1) / 10) * 2**0.5 - 1 / 3,
        }
    )


def made(dropped, exposed) -> Genealogy:
    return Genealogy((), (), dropped, exposed)


def test_a_fit_by_hand():
    # One message: 3 of 10 adopt it, so β = 0.3.
    beta, delta = fit([made((1, 4), ((3, 10), (0, 0)))])
    assert (beta[0], delta[0]) == pytest.approx((0.3, 0.25))
    # Two messages: 1 - (1 - β)² = 0.51 gives 0.3 again, and both together do too.
    assert fit([made((0, 1), ((0, 0), (51, 100)))])[0][0] == pytest.approx(0.3)
    assert fit([made((0, 1), ((30, 100), (51, 100)))])[0][0] == pytest.approx(0.3)
    # The likelihood of 1 of 1 after one message and 0 of 1 after two is β (1 - β)²: 1/3.
    assert fit([made((0, 1), ((1, 1), (0, 1)))])[0][0] == pytest.approx(1 / 3)


def test_a_fit_at_the_ends_and_without_data():
    assert fit([made((0, 2), ((5, 5), (2, 2)))])[0][0] == 1.0
    assert fit([made((0, 2), ((0, 5), (0, 2)))])[0][0] == 0.0
    assert fit([made((2, 2), ((0, 0), (0, 0)))])[1][0] == 1.0
    nothing = fit([made((0, 0), ((0, 0), (0, 0)))])
    assert np.isnan(nothing[0][0]) and np.isnan(nothing[1][0])


def test_weights_count_episodes():
    lines = [made((1, 2), ((1, 2), (0, 0))), made((0, 2), ((0, 2), (0, 0)))]
    beta, delta = fit(lines, np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]]))
    assert beta == pytest.approx([0.25, 0.5, 0.0])
    assert delta == pytest.approx([0.25, 0.5, 0.0])


def test_growth_by_hand():
    # b hears a and c; a and c hear b. The spectral radius is the root of 2.
    heard = links([{"a_0": ["b_0"], "b_0": ["a_0", "c_0"], "c_0": ["b_0"]}], AGENTS)
    assert growth(np.array([0.4]), np.array([0.1]), heard) == pytest.approx(0.4 * 2**0.5 - 0.1)


def entries(heard: Links) -> list[list[float]]:
    matrix = np.zeros((heard.agents, heard.agents))
    matrix[heard.readers, heard.speakers] = heard.weights
    return matrix.tolist()


def test_links_are_a_mean_over_the_rounds_of_a_topology():
    star = {"a_0": ["b_0", "c_0"], "b_0": ["a_0"], "c_0": ["a_0"]}
    none: dict[str, list[str]] = {"a_0": [], "b_0": [], "c_0": []}
    assert entries(links([star], AGENTS)) == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert entries(links([star, none], AGENTS)) == [[0, 0.5, 0.5], [0.5, 0, 0], [0.5, 0, 0]]
    assert links([none], AGENTS).radius == 0.0


@pytest.mark.parametrize("count", [7, 10_000])
@pytest.mark.parametrize(
    ("hears", "radius"),
    [
        (lambda i, n: range(1, n) if not i else [0], lambda n: (n - 1) ** 0.5),
        (lambda i, n: [(i + 1) % n], lambda n: 1.0),
        (lambda i, n: [i + 1] if i + 1 < n else [], lambda n: 0.0),
        # Who hears a ring, and is not heard, adds nothing.
        (lambda i, n: [1 - i] if i < 2 else [0, 1], lambda n: 1.0),
    ],
    ids=["star", "ring", "line", "audience"],
)
def test_the_radius_of_large_teams_needs_no_square_of_agents(count, hears, radius):
    agents = [f"a_{place}" for place in range(count)]
    heard = {a: [agents[other] for other in hears(i, count)] for i, a in enumerate(agents)}
    assert links([heard], agents).radius == pytest.approx(radius(count), rel=1e-6, abs=1e-6)


def test_an_impact_is_a_ratio_of_means():
    ratio = impact([0.6, 1.0], [0.2, 0.2])
    assert ratio is not None and ratio.mean == pytest.approx(4.0)
    # Every draw from the leaf is 0.2; the lowest and highest draw from the hub are 0.6 and 1.
    assert (ratio.low, ratio.high) == pytest.approx((3.0, 5.0))
    assert impact([0.6], [0.0]) is None
