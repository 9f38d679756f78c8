"""Text as numbers: the menu of messages, bags of words, and an array of an agent's texts.

The array of an agent has these parts, in order, all from 0 to 1:

- `role`, `agent`: one-hot;
- `time`: fraction of the rounds played, and whether the agent may speak now;
- `left`: tokens t left to the next message, the agent, the round and the episode, as t / (t + 64);
- `menu`, 4 for each entry: whether it is on the menu; its tokens t, as t / (t + 16); the fraction
  of its words that the question has; whether the agent said it before;
- `question`: words of the question;
- `known`: words of each statement of the agent;
- `heard`, for each other agent: words heard from it so far; the fraction of them that the question
  has; 1 if it was heard, 1/2 if it could not be;
- `facts`: facts of the world, in the world's order.

All parts are computed from texts that the agent has read. None says which statements matter; words
that a statement shares with the question are a hint, as they are to any reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from random import Random
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from laconic.envs.checks import whole
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Tokenize
from laconic.envs.dialogue.channel import LOST
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.envs.worlds import WorldEnv

Floats = NDArray[np.float32]
Mask = NDArray[np.int8]

ABSTAIN = "I do not know."
"""Last message of every menu."""


@dataclass(frozen=True, slots=True)
class Menu:
    """The messages that a numeric agent chooses from, by number.

    1. silence, number 0;
    2. the statements that the agent knows, in reading order;
    3. the drafts of its role, where all agents write one piece of work;
    4. the possible answers, for agents that answer; in a world, its acts and phrases;
    5. `ABSTAIN`.

    A number has the same meaning in every task. An entry that an agent lacks in a task is empty.
    The menu shows only what the agent may read, with one exception: the list of answers comes from
    all tasks of the source, like a list of labels. Drafts are in an order drawn from the task's
    key, because the source lists the best first.
    """

    statements: int
    """Places for statements; an agent that knows more has only the first on its menu."""
    drafts: int
    """Places for drafts."""
    answers: tuple[str, ...]
    """Messages that answer, in a fixed order."""

    @classmethod
    def of(cls, env: DialogueEnv | WorldEnv, answers: int = 64) -> Menu:
        """Return the menu that fits an environment's tasks.

        Args:
            env: the environment. Separate environments for training and evaluation both need the
                menu of one of them.
            answers: maximum number of answers. Of more, the commonest are kept, and no other answer
                can be given.
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
        """Number of entries, silence included."""
        return 2 + self.statements + self.drafts + len(self.answers)

    def entries(
        self, task: Task, share: Sequence[int], agent: str, answering: bool
    ) -> tuple[str, ...]:
        """Return the messages of an agent in a task, `size` of them; missing ones are empty.

        Args:
            task: the task.
            share: indices of the statements that the agent knows.
            agent: name of the agent.
            answering: whether the agent answers.
        """
        statements = [task.statements[index] for index in share]
        drafts = list(task.drafts.get(role_of(agent), ()))
        Random(f"{task.key}/{agent}").shuffle(drafts)
        answers = self.answers if answering and not task.drafts else ("",) * len(self.answers)
        statements, drafts = _padded(statements, self.statements), _padded(drafts, self.drafts)
        return ("", *statements, *drafts, *answers, ABSTAIN)


_WORD = re.compile(r"\w+")
_LINE = re.compile(r"(?P<speaker>\w+_\d+): (?P<words>.*)")


class Bag:
    """The words of a text as an array of 0 and 1.

    A bag has a place for each word of a vocabulary. Without a vocabulary it has a number of places,
    and a digest assigns each word one of them; words may then share a place.
    """

    def __init__(self, words: int | Sequence[str]) -> None:
        """Take a vocabulary, or a number of places.

        Raises:
            SettingError: there is no place.
        """
        if isinstance(words, int):
            self._places: dict[str, int] | None = None
            self.size = words
        else:
            self._places = {word: place for place, word in enumerate(dict.fromkeys(words))}
            self.size = len(self._places)
        if isinstance(words, bool) or self.size < 1:
            raise SettingError(
                f"words must be a number of at least 1 or a vocabulary with words in it;"
                f" got {words!r}"
            )

    def array(self, words: Iterable[str]) -> Floats:
        """Return float32 of shape (size,): 1 for each of the words that has a place."""
        array = np.zeros(self.size, np.float32)
        array[[place for word in words if (place := self._place(word)) is not None]] = 1.0
        return array

    def _place(self, word: str) -> int | None:
        # Python's own hash would differ from process to process.
        return crc32(word.encode()) % self.size if self._places is None else self._places.get(word)


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """Return the different words and numbers of a text, in lower case."""
    return frozenset(_WORD.findall(text.lower()))


def vocabulary(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return all words of the questions and statements of tasks, in alphabetical order."""
    texts = (text for task in tasks for text in (task.question, *task.statements))
    return tuple(sorted(frozenset().union(*map(words_of, texts))))


def overlap(words: Collection[str], others: Collection[str]) -> float:
    """Return the fraction of words that are among others; 0 without words."""
    return sum(word in others for word in words) / len(words) if words else 0.0


def messages_in(text: str, speakers: Collection[str]) -> dict[str, str]:
    """Return each speaker's message in a text an agent heard (`envs.dialogue.messages.heard`).

    Lines of other speakers are left out.
    """
    messages: dict[str, str] = {}
    speaker = ""
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match and match["speaker"] in speakers:
            speaker = match["speaker"]
            messages[speaker] = match["words"]
        elif speaker and line.startswith("  "):
            messages[speaker] += "\n" + line[2:]
        else:
            speaker = ""
    return messages


def unheard(text: str, speakers: Collection[str]) -> tuple[str, ...]:
    """Return the speakers that a text reports as lost (`envs.dialogue.channel`)."""
    lines = set(text.splitlines())
    return tuple(speaker for speaker in speakers if LOST.format(agent=speaker) in lines)


_ON, _LENGTH, _OVERLAP, _SAID = range(4)
"""Columns of the part `menu`."""
_LONG_BUDGET, _LONG_MESSAGE = 64.0, 16.0
"""Number of tokens shown as one half."""


class Layout:
    """Position of each part in the array, the same for every agent of a team."""

    def __init__(
        self, agents: Sequence[str], menu: Menu, bag: Bag, facts: Mapping[str, float] | None = None
    ) -> None:
        """Fix sizes and order.

        Args:
            agents: agents of the team, in order.
            menu: their messages.
            bag: places of words.
            facts: names of a world's facts, each with the value shown as 1.
        """
        self.agents = tuple(agents)
        self.roles = tuple(dict.fromkeys(map(role_of, agents)))
        self.menu, self.bag, self.facts = menu, bag, dict(facts or {})
        sizes = {
            "role": len(self.roles),
            "agent": len(self.agents),
            "time": 2,
            "left": 4,
            "menu": 4 * menu.size,
            "question": bag.size,
            "known": bag.size * menu.statements,
            "heard": (bag.size + 2) * (len(self.agents) - 1),
            "facts": len(self.facts),
        }
        ends = list(accumulate(sizes.values()))
        self.size = ends[-1]
        """Number of entries."""
        self.parts = {
            name: slice(end - size, end)
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        """Entries of each part, by name."""


class Reader:
    """Array of the texts that one agent has read in an episode."""

    def __init__(
        self,
        layout: Layout,
        agent: str,
        question: str,
        statements: Sequence[str],
        entries: tuple[str, ...],
        tokenize: Tokenize,
    ) -> None:
        """Read the first observation.

        Args:
            layout: positions in the array.
            agent: name of the agent.
            question: question of the task.
            statements: statements that the agent knows.
            entries: its messages by number; missing ones are empty.
            tokenize: cuts text into tokens.
        """
        self.entries = entries
        self._layout = layout
        self._others = [other for other in layout.agents if other != agent]
        self._question = words_of(question)
        self._tokens = np.array([len(tokenize(text)) for text in entries])
        self._heard: dict[str, frozenset[str]] = {}
        self._array = np.zeros(layout.size, np.float32)
        part = {name: self._array[place] for name, place in layout.parts.items()}
        part["role"][layout.roles.index(role_of(agent))] = 1.0
        part["agent"][layout.agents.index(agent)] = 1.0
        part["question"][:] = layout.bag.array(self._question)
        for place, text in enumerate(statements[: layout.menu.statements]):
            start = place * layout.bag.size
            part["known"][start : start + layout.bag.size] = layout.bag.array(words_of(text))
        self._menu: Floats = part["menu"].reshape(-1, 4)
        self._menu[:, _LENGTH] = self._tokens / (self._tokens + _LONG_MESSAGE)
        self._menu[:, _OVERLAP] = [overlap(words_of(text), self._question) for text in entries]
        self._time, self._left = part["time"], part["left"]
        self._facts = part["facts"]
        self._speakers: Floats = part["heard"].reshape(-1, layout.bag.size + 2)
        self.mask: Mask = np.zeros(layout.menu.size, np.int8)
        """Entries on the menu, int8 of shape (menu.size,)."""

    def look(
        self, progress: float, tokens_left: Sequence[int], offered: Collection[str] | None = None
    ) -> Floats:
        """Return the present array, and update `mask`.

        Args:
            progress: fraction of the rounds played.
            tokens_left: tokens left under the four caps, those of the next message first.
            offered: messages that make sense now; None for any.
        """
        on = (self._tokens > 0) & (self._tokens <= tokens_left[0])
        if offered is not None:
            on &= [text in offered for text in self.entries]
        on[0] = True
        self.mask = on.astype(np.int8)
        self._menu[:, _ON] = on
        self._time[:] = progress, tokens_left[0] > 0
        caps = np.asarray(tokens_left, np.float64)
        self._left[:] = caps / (caps + _LONG_BUDGET)
        return self._array.copy()

    def message(self, number: int) -> str:
        """Return the entry of a number and mark it as said; off the menu it is silence."""
        if not self.mask[number]:
            return ""
        self._menu[number, _SAID] = number > 0
        return self.entries[number]

    def learn(self, facts: Mapping[str, float]) -> None:
        """Update the facts of a world."""
        fractions = [facts[name] / most for name, most in self._layout.facts.items()]
        self._facts[:] = np.clip(fractions, 0.0, 1.0)

    def hear(self, text: str) -> None:
        """Add the messages of a new observation to the array."""
        for speaker, message in messages_in(text, self._others).items():
            words = self._heard.get(speaker, frozenset()) | words_of(message)
            self._heard[speaker] = words
            row = self._speakers[self._others.index(speaker)]
            row[:-2] = self._layout.bag.array(words)
            row[-2:] = overlap(words, self._question), 1.0
        for speaker in unheard(text, self._others):
            row = self._speakers[self._others.index(speaker)]
            row[-1] = max(row[-1], 0.5)


def _padded(texts: Sequence[str], size: int) -> list[str]:
    return [*texts[:size], *[""] * (size - len(texts))]
