"""Generalized advantage estimation (Schulman et al. 2016, arXiv 1506.02438, eq. 11 and 16).

    delta_t = r_t + gamma V_(t+1) - V_t
    A_t     = delta_t + gamma gae_lambda A_(t+1)

With `gae_lambda` 1 the advantage is the return from t on less V_t, with 0 it is delta_t. Pure
arithmetic on tensors; knows neither agents nor tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.envs.errors import SettingError


@torch.no_grad()
def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float) -> Tensor:
    """Compute the advantages of the decisions of trajectories; the value after the last one is 0.

    Args:
        rewards: (trajectories, decisions) sum of the rewards after a decision and before the next.
        values: (trajectories, decisions) value that the critic gave before it.
        mask: (trajectories, decisions) bool, True on decisions. Other entries are skipped, at the
            end of a trajectory or in between, and may even be NaN.
        gamma: discount of a reward per further decision.
        gae_lambda: weight of rewards over values.

    Returns:
        (trajectories, decisions) in the dtype of `values`; 0 where there is no decision.

    Raises:
        SettingError: the shapes differ.
    """
    if not rewards.shape == values.shape == mask.shape or values.dim() != 2:
        raise SettingError(
            "rewards, values and mask must have one shape (trajectories, decisions); got"
            f" {tuple(rewards.shape)!r}, {tuple(values.shape)!r} and {tuple(mask.shape)!r}"
        )
    advantages = torch.zeros_like(values)
    later = values.new_zeros(len(values))
    expected = later
    for place in reversed(range(values.shape[1])):
        here, value = mask[:, place], values[:, place]
        delta = rewards[:, place] + gamma * expected - value
        later = torch.where(here, delta + gamma * gae_lambda * later, later)
        expected = torch.where(here, value, expected)
        advantages[:, place] = torch.where(here, later, 0.0)
    return advantages
