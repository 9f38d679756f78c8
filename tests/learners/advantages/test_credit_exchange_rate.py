"""One exchange rate: a token costs the same task reward under every credit, by random episodes."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.learners.advantages.credit import credit
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Parts, Turn
from laconic.learners.training.sequences import sequences_of

CREDITS = ("own", "team", "outcome", "silence", "shapley", "rank")


def drawn(generator: np.random.Generator) -> tuple[Group, float, dict]:
    """Return a group of random episodes, its rate, and the tokens of each agent, episode and round.

    1 to 8 agents, 1 to 4 rounds, dialogues and games, any kind of charge, a random schedule. Tokens
    count once for each listener where those are charged, and those heard by their own price.
    """
    agents = [f"a_{place}" for place in range(generator.integers(1, 9))]
    rounds, size = int(generator.integers(1, 5)), int(generator.integers(2, 7))
    common, charge = (
        bool(generator.integers(2)),
        str(generator.choice(["own", "team", "listeners"])),
    )
    rate = float(generator.uniform(0.001, 0.2))
    scheduled = generator.random((len(agents), rounds)) < 0.7
    scheduled[:, 0] = True
    said = generator.integers(0, 30, (size, len(agents), rounds)) * scheduled
    copies = generator.integers(1, 8, said.shape) if charge == "listeners" else 1
    read_share = float(generator.choice([0.0, 0.3, 1.0]))
    heard = generator.integers(0, 30, said.shape) * scheduled
    tokens = said * copies + read_share * heard
    episodes = []
    for place in range(size):
        solved = bool(generator.integers(2))
        gains = [float(solved)] * len(agents) if common else generator.normal(size=len(agents))
        task = {a: (0.0,) * (rounds - 1) + (float(g),) for a, g in zip(agents, gains, strict=True)}
        bills = {a: tuple(rate * float(n) for n in tokens[place, i]) for i, a in enumerate(agents)}
        total = np.sum(list(bills.values()), axis=0)
        charged = dict.fromkeys(agents, tuple(total)) if charge == "team" else bills
        paid = {a: tuple(np.subtract(task[a], charged[a]).tolist()) for a in agents}
        # Measured by hand: a message earned 1 if the episode was solved, and cost its own bill.
        turns = tuple(
            Turn(
                agent,
                number,
                "word" if said[place, i, number] else "",
                (1,),
                (2,),
                (-0.5,),
                int(said[place, i, number]),
                informed=(True, False, None)[generator.integers(3)],
                credit=Parts(float(solved), bills[agent][number]),
            )
            for number in range(rounds)
            for i, agent in enumerate(agents)
            if scheduled[i, number]
        )
        episodes.append(
            Episode(
                "t", turns, paid, solved=solved, task_rewards=task, bills=bills,
                common=common, charge=charge,
            )
        )  # fmt: skip
    counts = {
        (agent, place): tokens[place, i] for place in range(size) for i, agent in enumerate(agents)
    }
    return Group("t", tuple(episodes)), rate, {"said": counts, "all": tokens.sum(axis=1)}


@pytest.mark.parametrize("draws", [24, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", CREDITS)
@pytest.mark.parametrize("unit", ["episode", "reply"])
def test_a_token_costs_the_rate_under_every_credit(kind, unit, draws):
    generator = np.random.default_rng(0)
    checked = 0
    for _ in range(draws):
        group, rate, tokens = drawn(generator)
        sequences = sequences_of(
            group,
            credit=credit(kind),
            advantages=Advantages(scale="none"),
            unit=unit,
        )
        for sequence in sequences:
            parts, episode = sequence.breakdown, group.episodes[sequence.episode]
            own = tokens["said"][sequence.agent, sequence.episode]
            all_words = tokens["all"][sequence.episode]
            counted = own if kind in ("silence", "shapley") else all_words
            if kind in ("own", "rank") and episode.charge != "team":
                counted = own
            start = sequence.round or 0
            if kind == "outcome":
                start = 0
            end = start + 1 if unit == "reply" and kind in ("silence", "shapley") else None
            if unit == "episode" and kind in ("silence", "shapley"):
                start = 0
            words = counted[start:end].sum()
            assert parts.cost == pytest.approx(rate * words, abs=1e-12)
            assert sequence.return_to_go == pytest.approx(parts.task - rate * words)
            checked += 1
        checked_pairs(sequences)
    assert checked > 5 * draws


def checked_pairs(sequences):
    """Check that two advantages of an agent differ as their T does, less as their C does."""
    by_agent = {}
    for sequence in sequences:
        by_agent.setdefault(sequence.agent, []).append(sequence)
    for own in by_agent.values():
        first, last = own[0], own[-1]
        task = first.breakdown.task - last.breakdown.task
        cost = first.breakdown.cost - last.breakdown.cost
        assert first.advantage - last.advantage == pytest.approx(task - cost, abs=1e-9)
        for each in (first, last):
            center, scale = each.breakdown.comparison
            assert each.advantage == pytest.approx((each.return_to_go - center) / scale, abs=1e-12)
