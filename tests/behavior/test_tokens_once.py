"""Tokens that pass through a model in an update, per token of conversation, of shipped methods."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hydra import compose, initialize_config_module

from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.session.setup import make_environments, make_learner, make_team
from laconic.learners.episode import Episode, Group, Turn

METHODS = ("gspo", "magrpo", "at_grpo", "ippo", "mappo")
LIKE_OTHERS = ("agent_gspo", "c3", "dr_mas")
"""Methods with the sequences of gspo or at_grpo."""


@cache
def team_of(method: str, model: Path) -> tuple[Any, dict[str, Any]]:
    with initialize_config_module("laconic.conf", version_base="1.3"):
        overrides = [f"agent.model={model}", f"learner={method}", "env.tasks=4"]
        cfg = compose("train", overrides=overrides)
        finalize_config(cfg, overrides)
    team = make_team(cfg)
    return cfg, team.policies(make_environments(cfg, 1, "train", team)[0])


def group_of(key: str, agents: tuple[str, ...], rounds: int, draw: Random) -> Group:
    def some(most: int) -> tuple[int, ...]:
        return tuple(draw.randrange(5, 300) for _ in range(draw.randint(1, most)))

    episodes = []
    for _ in range(4):
        turns = []
        for agent in agents:
            for round in range(rounds):
                reply = some(12)
                prompt = some(8) if round else some(60)
                turns.append(Turn(agent, round, "", prompt, reply, (-3.0,) * len(reply)))
        pay = {agent: tuple(draw.random() for _ in range(rounds)) for agent in agents}
        episodes.append(Episode(key, tuple(turns), pay))
    return Group(key, tuple(episodes))


def candidates(group: Group, round: int) -> Group:
    """Only the replies of one round are trained."""
    return replace(
        group,
        episodes=tuple(
            replace(
                episode,
                turns=tuple(replace(turn, trained=turn.round == round) for turn in episode.turns),
            )
            for episode in group.episodes
        ),
    )


def tokens_of(groups: list[Group]) -> int:
    """Count the tokens of all conversations up to the last reply that is trained."""
    tokens = 0
    for episode in (episode for group in groups for episode in group.episodes):
        last = max(turn.round for turn in episode.turns if turn.trained)
        read = [turn for turn in episode.turns if turn.round <= last]
        tokens += sum(len(turn.prompt_ids) + len(turn.reply_ids) for turn in read)
    return tokens


@pytest.mark.parametrize(
    "rounds", [4, *(pytest.param(rounds, marks=pytest.mark.slow) for rounds in (2, 8, 16))]
)
@pytest.mark.parametrize(
    "method", [*METHODS, *(pytest.param(method, marks=pytest.mark.slow) for method in LIKE_OTHERS)]
)
def test_no_token_passes_twice(policy_folder, method, rounds):
    cfg, policies = team_of(method, policy_folder)
    draw, agents = Random(rounds), tuple(policies)
    groups = [group_of(f"t{n}", agents, rounds, draw) for n in range(2)]
    if method in ("at_grpo", "c3"):
        groups = [candidates(group, round) for group in groups for round in range(rounds)]
    learner = make_learner(cfg, policies)
    models = {id(policy.model): policy.model for policy in policies.values()}.values()
    records: dict[str, list[int]] = {"model": [], "body": []}
    handles = [
        module.register_forward_pre_hook(
            lambda _, arguments, keywords, name=name: records[name].append(
                int(keywords["attention_mask"].sum())
            ),
            with_kwargs=True,
        )
        for model in models
        for name, module in (("model", model), ("body", model.base_model))
    ]
    learner.update(groups)
    for handle in handles:
        handle.remove()
    assert 0 < sum(records["model"]) <= tokens_of(groups)
    # A critic has its own reading of what the policies have read.
    critic = sum(records["body"]) - sum(records["model"])
    assert 0 <= critic <= tokens_of(groups) and (critic > 0) == (method in ("ippo", "mappo"))
