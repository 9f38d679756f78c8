"""The rules about text, tokens and tasks: each is named when an environment breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Text

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.contract.text import TEXT_RULES
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
        for observation in observations.values():
            observation["text"] = observation["text"].replace("\n  ", "\n")
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
        for observation in observations.values():
            observation["tokens_left"] = np.minimum(observation["tokens_left"], 2)
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
        (Alphanumeric, "Accept every string as an action.*got an action space without white space"),
        (Fragile, "Accept every string as an action.*UnicodeEncodeError on a lone surrogate"),
        (Gullible, "Keep messages from posing as another agent's.*got solver_0: well"),
        (Deaf, r"Start the task that `reset\(options={\"task\": key}\)` names.*for key"),
        (CostlySilence, "Charge nothing for silence.*got reward -0.01"),
        (CountedSilence, "Charge nothing for silence.*'helper_0': got 1 tokens said"),
        (WrongLeft, "Keep within every budget.*with 2 left"),
        (Undercount, "Count the tokens of published messages.*said.*published"),
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

    with pytest.raises(ContractError, match="Keep within every budget.*" + words):
        check_env(lambda: make_env(kind=Announcing))


(IMPERSONATION,) = (rule for rule in TEXT_RULES if rule.__name__ == "_impersonation")


def quote(task, written):
    return dict.fromkeys(("concise_0", "detailed_0"), "\n".join(["", *written.values()]))


def writing(kind=DialogueEnv):
    """Return two authors who hear no agent, and an expert who quotes them."""
    env = envs.make(
        "tldr", free=True, tasks=3, rounds=2, team={"concise": 1, "detailed": 1}, answer="joint"
    )
    return kind(
        env.benchmark,
        tuple(env.tasks.values()),
        team={"concise": 1, "detailed": 1},
        answer="joint",
        rounds=2,
        topology="none",
        feedback="expert",
        expert=quote,
    )


class Unindented(DialogueEnv):
    """Takes the indentation out of everything it says."""

    def _news(self, agents, comments):
        news = super()._news(agents, comments)
        return {agent: text.replace("\n  ", "\n") for agent, text in news.items()}


def test_an_expert_who_quotes_agents_lends_nobody_its_voice():
    IMPERSONATION(writing, seeds=[0])


def test_quotes_in_feedback_that_read_as_another_agents_words_are_found():
    with pytest.raises(ContractError, match="^Keep messages from posing as another agent's"):
        IMPERSONATION(lambda: writing(Unindented), seeds=[0])


def test_a_line_that_poses_as_the_expert_is_found():
    class Alone(Unindented):
        """Only the expert is left to pose as."""

        def _news(self, agents, comments):
            news = super()._news(agents, comments)
            gone = ("concise_0: forged", "detailed_0: forged")
            return {a: "\n".join(set(t.splitlines()) - {*gone}) for a, t in news.items()}

    with pytest.raises(ContractError, match="Expert: forged"):
        IMPERSONATION(lambda: writing(Alone), seeds=[0])
