"""The messages that an agent without a language can choose from, by number.

0 is silence. Then come the statements that the agent knows, in reading order; the drafts of its
role, where all agents write one piece of work; the answers there are, for those who answer; and
last `ABSTAIN`. In a world its menu stands in the place of answers: acts, and sentences to say.
The numbers mean the same in every task, and there are as many in every task: an entry that this
agent does not have in this task is empty.

It looks at nothing that the agent may not read, with one exception: which answers there are at all
is known from the tasks of the source, like a list of labels. Drafts stand in an order drawn from
the task's key, for the source has them best first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.checks import whole
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.roster import role_of
from laconic.envs.task import Task
from laconic.envs.worlds import WorldEnv

ABSTAIN = "I do not know."
"""What is said by who has nothing to say and says it."""


@dataclass(frozen=True, slots=True)
class Menu:
    """What can be on the menu of any agent in any task."""

    statements: int
    """Places for statements; of an agent that knows more only the first are on its menu."""
    drafts: int
    """Places for drafts."""
    answers: tuple[str, ...]
    """The messages that answer, in a fixed order."""

    @classmethod
    def of(cls, env: DialogueEnv | WorldEnv, answers: int = 64) -> Menu:
        """The menu that suits an environment's tasks, the most statements dealt to one agent.

        Args:
            env: the environment. Where train and evaluation environments are two, both need the
                menu of one of them.
            answers: how many answers at the most; of a source with more the commonest are taken,
                and no other answer can be given.
        """
        limit = whole("answers", answers, 1)
        if isinstance(env, WorldEnv):
            return cls(0, 0, env.world.menu())
        tasks = tuple(env.tasks.values())
        count = max(len(task.statements) for task in tasks)
        drafts = max(len(texts) for task in tasks for texts in (*task.drafts.values(), ()))
        if env.information == "split":
            count = -(-count // len(env.holders))
        common = Counter(task.answer_text for task in tasks if not task.drafts).most_common(limit)
        return cls(count, drafts, tuple(sorted(text for text, _ in common)))

    @property
    def size(self) -> int:
        """Number of entries, silence among them."""
        return 2 + self.statements + self.drafts + len(self.answers)

    def entries(
        self, task: Task, share: Sequence[int], agent: str, answering: bool
    ) -> tuple[str, ...]:
        """The messages of an agent in a task, `size` of them; empty where there is none.

        The share is the indices of the statements that the agent knows.
        """
        known = [task.statements[index] for index in share]
        drafts = list(task.drafts.get(role_of(agent), ()))
        Random(f"{task.key}/{agent}").shuffle(drafts)
        answers = self.answers if answering and not task.drafts else ("",) * len(self.answers)
        known, drafts = _filled(known, self.statements), _filled(drafts, self.drafts)
        return ("", *known, *drafts, *answers, ABSTAIN)


def _filled(texts: Sequence[str], size: int) -> list[str]:
    return [*texts[:size], *[""] * (size - len(texts))]
