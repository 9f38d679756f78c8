"""The rules about text: what an environment says between rounds can pose as nobody either."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract.text import TEXT_RULES
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import ContractError

(IMPERSONATION,) = (rule for rule in TEXT_RULES if rule.__name__ == "_impersonation")


def quote(task, written):
    return dict.fromkeys(("concise_0", "detailed_0"), "\n".join(["", *written.values()]))


def writing(kind=DialogueEnv):
    """Two authors who hear nobody, and an expert who says what they wrote."""
    made = envs.make("tldr", tasks=3, rounds=2, team={"concise": 1, "detailed": 1}, answer="joint")
    return kind(
        made.benchmark,
        tuple(made.tasks.values()),
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
    with pytest.raises(ContractError, match="^No message can pose as another agent's"):
        IMPERSONATION(lambda: writing(Unindented), seeds=[0])


def test_a_line_that_poses_as_the_expert_is_found():
    class Alone(Unindented):
        """An agent has nobody to pose as but the expert."""

        def _news(self, agents, comments):
            news = super()._news(agents, comments)
            gone = ("concise_0: forged", "detailed_0: forged")
            return {a: "\n".join(set(t.splitlines()) - {*gone}) for a, t in news.items()}

    with pytest.raises(ContractError, match="Expert: forged"):
        IMPERSONATION(lambda: writing(Alone), seeds=[0])
