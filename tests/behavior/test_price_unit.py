"""The unit of a price is what the briefest known team is billed."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.learners.advantages.credit import team_parts
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.load import load_tokenizer
from laconic.learners.agents.recipes import shipped
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start, play

PROGRAMS = [pytest.param(name, marks=pytest.mark.slow) for name in ("humaneval", "mbpp")]
TASKS = 100


@pytest.mark.parametrize(
    "name", ["signal", "gsm8k", "math", "sports", "strategyqa", "checkmate", *PROGRAMS]
)
def test_a_perfect_brief_team_pays_the_price(name: str) -> None:
    unit = envs.make(name, tasks=1).reward.normalizer
    tokenize = tokenize_with(load_tokenizer(str(shipped(name))))
    env = envs.make(
        name,
        tasks=TASKS,
        split="evaluation",
        tokenize=tokenize,
        reward={"price": 1.0, "normalizer": 1},
    )
    starts = [Start(seed, key) for seed, key in enumerate(env.tasks)]
    episodes = play([env], ScriptedTeam("oracle").policies(env), starts, seed=0, greedy=True)
    assert all(episode.solved for episode in episodes)
    billed = sum(team_parts(episode).cost for episode in episodes) / TASKS
    # A token costs 1 here. The unit was measured on other tasks, and is a whole number.
    assert billed == pytest.approx(unit, abs=0.75)
