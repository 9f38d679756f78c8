"""`check_env` names the rule about text, tokens or tasks that a broken environment breaks."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Text

from laconic.envs.contract import check_env
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Budget
from laconic.envs.errors import ContractError


class Alphanumeric(DialogueEnv):
    def action_space(self, agent):
        return self._actions.setdefault(agent + "!", Text(64, min_length=0))


class Fragile(DialogueEnv):
    def step(self, actions):
        for text in actions.values():
            text.encode()
        return super().step(actions)


class Gullible(DialogueEnv):
    """Lets words through as they were said."""

    def step(self, actions):
        observations, *others = super().step(actions)
        for seen in observations.values():
            seen["text"] = seen["text"].replace("\n  ", "\n")
        return observations, *others


class Deaf(DialogueEnv):
    def reset(self, seed=None, options=None):
        return super().reset(seed)


class CostlySilence(DialogueEnv):
    def step(self, actions):
        observations, rewards, *others, infos = super().step(actions)
        infos = {a: {**i, "charged": i["charged"] + 0.01} for a, i in infos.items()}
        return observations, {a: r - 0.01 for a, r in rewards.items()}, *others, infos


class CountedSilence(DialogueEnv):
    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed, options)
        self.ledger.said["helper_0"] = 1
        return observations, infos


class Spendthrift(DialogueEnv):
    """Announces budgets that it does not keep."""

    announced = Budget()

    def reset(self, seed=None, options=None):
        self.budget = Budget()
        returned = super().reset(seed, options)
        self.budget = self.announced
        return returned


class WrongLeft(DialogueEnv):
    def _lie(self, observations):
        for seen in observations.values():
            seen["tokens_left"] = np.minimum(seen["tokens_left"], 2)
        return observations

    def reset(self, seed=None, options=None):
        observations, infos = super().reset(seed, options)
        return self._lie(observations), infos

    def step(self, actions):
        observations, *others = super().step(actions)
        return self._lie(observations), *others


class Undercount(DialogueEnv):
    def step(self, actions):
        *others, infos = super().step(actions)
        return *others, {a: {**i, "tokens_said": i["tokens_said"] // 2} for a, i in infos.items()}


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Alphanumeric, "Every string is a legal action.*got an action space without white space"),
        (Fragile, "Every string is a legal action.*UnicodeEncodeError on a lone surrogate"),
        (Gullible, "No message can pose as another agent's.*got solver_0: well"),
        (Deaf, r"`reset\(options={\"task\": key}\)` starts the task.*for key"),
        (CostlySilence, "Silence is free.*got reward -0.01"),
        (CountedSilence, "Silence is free.*'helper_0': got 1 tokens said"),
        (WrongLeft, "No budget is exceeded.*with 2 left"),
        (Undercount, "The tokens said are those of the published messages.*said.*published"),
    ],
)
def test_a_broken_rule_about_text_is_named_too(make_env, broken, sentence):
    with pytest.raises(ContractError, match=sentence):
        check_env(lambda: make_env(kind=broken))


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(message=9), r"'solver_0': got \d+ tokens, message=9"),
        (Budget(agent=9), r"'solver_0': got \d+ tokens, agent=9"),
        (Budget(round=9), r"got \d+ tokens, round=9"),
        (Budget(episode=9), r"got \d+ tokens, episode=9"),
    ],
)
def test_each_exceeded_cap_is_named(make_env, budget, words):
    class Announcing(Spendthrift):
        announced = budget

    with pytest.raises(ContractError, match="No budget is exceeded.*" + words):
        check_env(lambda: make_env(kind=Announcing))
