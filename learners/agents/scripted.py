"""Agents that follow a script: baselines, teachers of a warm start, and players in tests.

Scripts read the task of the episode, which language policies never see.

- `oracle` says the relevant statements once, and nothing else.
- `telegraph` says the same in few words, which its own answering agent understands.
- `verbose` says all statements it knows, in many words.
- `random` says random words, some of them answers.
- `silent` says nothing.

Under `env.addressing=names`, `oracle` and `telegraph` address facts to the agents that answer, and
`verbose` says them to all.

A scripted agent answers correctly exactly if every relevant statement was said to it or is its own.
If all agents write one piece of work, `oracle` writes the best draft of its role and `verbose` the
last. `Teacher` mixes these styles for a warm start to imitate. A world has its own `oracle`,
`verbose` and further scripts, which may be called `silent` (`envs.worlds.base.World.script`).
"""

from __future__ import annotations

import random
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.checks import Word
from laconic.envs.dialogue.addressing import Recipients
from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.dialogue.option import option_of
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task, knows_enough, named_tasks, relevant_statements
from laconic.envs.worlds import Script as WorldScript
from laconic.envs.worlds import TeacherStyle, TurnView, World
from laconic.learners.interfaces import Reply, Request

_WORDY_FRAMES = (
    ("Hello team, this is what I was told:", "I hope it helps."),
    ("Well, my part of the problem says:", "That is all I know."),
    ("Let me share this with everybody:", "Please keep it in mind."),
)
_WORDY_ANSWERS = (
    "Thank you all, I have worked it out.",
    "Well, I put this together and here is my answer.",
)

Script = Callable[[Task, Request, random.Random], str]
"""Function of task, request and generator that returns a message."""

_ADDRESSED = 0.5
"""Fraction of a teacher's messages with an address, where names count. A learner then explores
messages with and without one."""
_NO_TASK = Task(key="", question="", statements=(), answer="")
"""Task that is passed to a script if the tasks of the environment are unknown."""
_ANYWHERE = ("random", "silent")
"""Scripts that do not read the task."""


class ScriptedPolicy:
    """Policy that follows one script, for any agent."""

    def __init__(self, script: Script, tasks: Mapping[str, Task]) -> None:
        """Join a script and the tasks it may read.

        Args:
            script: function of task, request and generator that returns a message.
            tasks: tasks of the environment by key; empty for a script that reads none.
        """
        self._script = script
        self._tasks = tasks

    def know(self, tasks: Mapping[str, Task]) -> None:
        """Add tasks: those of the evaluation, for a script that also plays during training.

        A script that reads no task, such as that of a world, needs none.

        Raises:
            SettingError: two different tasks have the same key.
        """
        if not self._tasks:
            return
        clash = [key for key, task in tasks.items() if self._tasks.get(key, task) != task]
        if clash:
            raise SettingError(
                "a scripted member needs different keys for training and evaluation tasks; both"
                f" have {clash[0]!r}; choose another env.source or evaluation.source"
            )
        self._tasks = {**self._tasks, **tasks}

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests; a script ignores `greedy`."""
        generator = random.Random(seed)
        tasks = (
            self._tasks[request.info["task"]] if self._tasks else _NO_TASK for request in requests
        )
        return [
            Reply(self._script(_believed(task, request), request, generator))
            for task, request in zip(tasks, requests, strict=True)
        ]


@dataclass
class ScriptedTeam:
    """Team in which every agent follows the same script."""

    script: Word = "oracle"
    """Name of the script: `oracle`, `telegraph`, `verbose`, `random` or `silent`; or a script of a
    world, such as `share` or `constant:10`."""
    tokenize: Tokenize = split_words
    """Function that cuts text into tokens; environments count budgets with it."""

    @staticmethod
    def defaults(imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other config groups that suit scripts, by dotted key."""
        return {"env.instructions": "full"}

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, ScriptedPolicy]:
        """Return one policy for all agents.

        Raises:
            UnknownNameError: there is no script of this name.
            SettingError: the script needs tasks of `envs.task.Task`, and the environment has none;
                or it is a script for dialogues, and the environment is a world without it.
        """
        world = getattr(environment, "world", None)
        is_own = isinstance(world, World) and self.script in world.script_names
        if isinstance(world, World) and (is_own or self.script not in _ANYWHERE):
            if self.script in NAMES and not is_own:
                scripts = ", ".join(dict.fromkeys((*world.script_names, *_ANYWHERE)))
                raise SettingError(
                    f"agent.script={self.script} is for dialogues; {world.name} has the scripts"
                    f" {scripts}"
                )
            policy = ScriptedPolicy(adapt_world_script(world.script(self.script)), {})
            return dict.fromkeys(environment.possible_agents, policy)
        if self.script not in NAMES:
            raise UnknownNameError("agent.script", self.script, NAMES)
        named_tasks = getattr(environment, "tasks", None)
        items = named_tasks.items() if isinstance(named_tasks, Mapping) else ()
        tasks = {key: task for key, task in items if isinstance(task, Task)}
        if self.script not in _ANYWHERE and not tasks:
            raise SettingError(
                f"agent.script={self.script} needs an environment whose `tasks` are of"
                f" envs.task.Task; got {type(environment).__name__}, where only"
                f" {' and '.join(_ANYWHERE)} can play"
            )
        script: Script = SCRIPTS.get(self.script) or Telegraph(tasks.values())
        if self.script in ("oracle", TELEGRAPH):
            script = address_facts(script, environment)
        policy = ScriptedPolicy(script, tasks)
        return dict.fromkeys(environment.possible_agents, policy)


def adapt_world_script(play: WorldScript) -> Script:
    """Return a script of a world in the form that `ScriptedPolicy` calls; it reads no task."""

    def script(task: Task, request: Request, generator: random.Random) -> str:
        has_spoken = any(reply.message for reply in request.history)
        info = request.info
        turn = TurnView(
            request.agent,
            info["facts"],
            request.text,
            has_spoken,
            info["offered"],
            "\n".join(request.texts),
            info["round"],
            tuple(reply.message for reply in request.history),
        )
        return play(turn, generator)

    return script


def address_facts(
    script: Script, environment: ParallelEnv[str, Any, Any], share: float = 1.0
) -> Script:
    """Return a script that addresses its messages to the answering role, where names count.

    Messages of agents that answer themselves stay without an address.

    Args:
        script: script of a dialogue.
        environment: environment that it plays in.
        share: fraction of the messages with an address, 0 to 1.
    """
    audience = option_of(environment, Recipients)
    if audience is None or audience.settings != "names":
        return script
    answering: Sequence[str] = environment.answering  # type: ignore[attr-defined]
    address = f"@{', '.join(dict.fromkeys(map(role_of, answering)))}: "

    def addressed(task: Task, request: Request, generator: random.Random) -> str:
        message = script(task, request, generator)
        if not message or _answers(request) or (share < 1 and generator.random() >= share):
            return message
        return f"{address}{message}"

    return addressed


def _oracle(task: Task, request: Request, generator: random.Random) -> str:
    if task.drafts:
        return _draft(task, request)
    if _answers(request):
        return _answer(task, request)
    if any(reply.message for reply in request.history):
        return ""
    return " ".join(relevant_statements(task, _share(request)))


def _verbose(
    task: Task, request: Request, generator: random.Random, frames: int | None = None
) -> str:
    if task.drafts:
        return _draft(task, request, -1)
    if _answers(request):
        answer = _answer(task, request, _working(task, request))
        return f"{generator.choice(_WORDY_ANSWERS[:frames])} {answer}" if answer else ""
    statements = _own_statements(task, request) or "nothing at all."
    before, after = generator.choice(_WORDY_FRAMES[:frames])
    return f"{before} {statements} {after}"


def _random(task: Task, request: Request, generator: random.Random) -> str:
    words = [
        "".join(generator.choices(string.ascii_lowercase, k=generator.randint(1, 8)))
        for _ in range(generator.randint(0, 8))
    ]
    if generator.random() < 0.5:
        words.append(f"#### {generator.randint(0, 99)}")
    return " ".join(words)


def _silent(task: Task, request: Request, generator: random.Random) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Teacher:
    """Script of mixed style: mostly wordy, sometimes terse, sometimes silent."""

    terse: float = 0.2
    """Fraction of messages that state only the facts, or only the working and the answer."""
    silent_informed: float = 0.05
    """Probability of silence in a turn with something useful to say."""
    silent_uninformed: float = 0.25
    """Probability of silence in a turn with nothing useful to say."""
    best: float = 0.2
    """Fraction of drafts that are the best of the role, if all agents write one piece of work; the
    others are random drafts. In a world, fraction of acts that are the best one, unless another
    agent has asked for an act."""
    frames: int = len(_WORDY_FRAMES)
    """Number of wordings for wordy messages, at least 1. With several, the terse style can be the
    likeliest single one although most messages are wordy; a greedy policy is then terse."""
    bare: float = 0.0
    """Fraction of answers without their working, so that a learner explores omitting it."""
    calculated: float = 0.0
    """Fraction of answers that calculate at once, without first repeating the facts."""

    def __post_init__(self) -> None:
        """Check the number of wordings.

        Raises:
            SettingError: `frames` is out of its range.
        """
        if not 1 <= self.frames <= len(_WORDY_FRAMES):
            raise SettingError(
                f"learner.collect.teacher.frames must be from 1 to {len(_WORDY_FRAMES)};"
                f" got {self.frames!r}"
            )

    def __call__(self, task: Task, request: Request, generator: random.Random) -> str:
        """Return the teacher's message."""
        if task.drafts:
            drafts = len(task.drafts.get(role_of(request.agent), ())) or 1
            chosen = 0 if generator.random() < self.best else generator.randrange(drafts)
            return _draft(task, request, chosen)
        terse = generator.random() < self.terse
        if _answers(request):
            # Draw only if the setting is above 0, so that its default leaves the random stream
            # of earlier versions unchanged.
            if self.bare and generator.random() < self.bare:
                return _answer(task, request)
            if self.calculated and generator.random() < self.calculated:
                return _answer(task, request, task.solution)
            if terse:
                return _answer(task, request, _working(task, request))
            return _verbose(task, request, generator, self.frames)
        informed = request.info.get("informed") is not False
        if generator.random() < (self.silent_informed if informed else self.silent_uninformed):
            return ""
        if terse:
            return _own_statements(task, request)
        return _verbose(task, request, generator, self.frames)


def teacher_policy(teacher: Teacher, environment: ParallelEnv[str, Any, Any]) -> ScriptedPolicy:
    """Return a teacher as a policy; in a world, the world's own teacher in this style."""
    world = getattr(environment, "world", None)
    if not isinstance(world, World):
        script = address_facts(teacher, environment, _ADDRESSED)
        return ScriptedPolicy(script, named_tasks(environment))
    style = TeacherStyle(teacher.terse, teacher.silent_uninformed, teacher.best, teacher.frames)
    return ScriptedPolicy(adapt_world_script(world.teacher(style)), {})


SCRIPTS: dict[str, Script] = {
    "oracle": _oracle,
    "verbose": _verbose,
    "random": _random,
    "silent": _silent,
}


TELEGRAPH = "telegraph"
NAMES = (*SCRIPTS, TELEGRAPH)
"""Names of all scripts; `telegraph` needs all tasks of the source (`Telegraph`)."""


class Telegraph:
    """Script like `oracle` that shortens each statement to few words that identify it."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Shorten all statements of a source."""
        self._short = telegrams(text for task in tasks for text in task.statements)

    def __call__(self, task: Task, request: Request, generator: random.Random) -> str:
        """Return the message; an answering agent reads a telegram as its statement."""
        if task.drafts or not _answers(request):
            message = _oracle(task, request, generator)
            has_facts = message and not task.drafts
            statements = relevant_statements(task, _share(request)) if has_facts else ()
            return " ".join(self._short.get(text, text) for text in statements) or message
        conversation = " ".join((*request.texts, request.text))
        decoded = [text for text in task.statements if self._short.get(text, text) in conversation]
        return _answer(task, replace(request, text=" ".join((request.text, *decoded))))


def telegrams(statements: Iterable[str]) -> dict[str, str]:
    """Shorten each statement to few of its words, in their order, that identify it.

    No other statement contains all words of a telegram. Words are chosen greedily, each time the
    one that leaves the fewest candidates, so a telegram need not be the shortest possible. A
    statement whose words all occur in another one stays whole.
    """
    words_of = {statement: statement.split() for statement in dict.fromkeys(statements)}
    statements_with: defaultdict[str, set[str]] = defaultdict(set)
    for statement, words in words_of.items():
        for word in words:
            statements_with[word].add(statement)
    return {
        statement: _telegram(statement, words, statements_with)
        for statement, words in words_of.items()
    }


def _telegram(statement: str, words: Sequence[str], statements_with: Mapping[str, set[str]]) -> str:
    chosen: set[int] = set()
    candidates: set[str] | None = None
    while candidates is None or candidates - {statement}:
        free = [index for index in range(len(words)) if index not in chosen]
        if not free:
            return statement
        remaining = {
            index: statements_with[words[index]] & (candidates or statements_with[words[index]])
            for index in free
        }
        best = min(free, key=lambda index: len(remaining[index]))
        if candidates is not None and len(remaining[best]) == len(candidates):
            return statement
        chosen.add(best)
        candidates = remaining[best]
    return " ".join(words[index] for index in sorted(chosen))


def _believed(task: Task, request: Request) -> Task:
    """Return the task as the agent has to believe it: with a false fact that it read (`env.fault`).

    Of a false and a true version in its conversation, the true one counts.
    """
    fault = request.info.get("fault", {})
    if "statement" not in fault or not task.statements:
        return task
    read, false = "\n".join((*request.texts, request.text)), fault["statement"]
    statements = list(task.statements)
    if false not in read or statements[fault["index"]] in read:
        return task
    statements[fault["index"]], answer = false, fault["false_answer"]
    return replace(task, statements=tuple(statements), answer=answer, answer_text="", solution="")


def _draft(task: Task, request: Request, index: int = 0) -> str:
    """Return a draft of the agent's role, the best first; empty once the agent has written."""
    drafts = task.drafts.get(role_of(request.agent), ())
    has_written = any(reply.message for reply in request.history)
    return drafts[index] if drafts and not has_written else ""


def _share(request: Request) -> Sequence[int]:
    share: Sequence[int] = request.info.get("share", ())
    return share


def _own_statements(task: Task, request: Request) -> str:
    return " ".join(task.statements[index] for index in _share(request))


def _answers(request: Request) -> bool:
    return bool(request.info.get("answering", False))


def _working(task: Task, request: Request) -> str:
    """Return the relevant statements in the order in which they were read, and the solution."""
    conversation = " ".join((*request.texts, request.text))
    flags = task.relevant or (False,) * len(task.statements)
    facts = [text for text, flag in zip(task.statements, flags, strict=True) if flag]
    return " ".join([*sorted(facts, key=conversation.find), task.solution])


def _answer(task: Task, request: Request, working: str = "") -> str:
    """Return the reference answer if the agent knows every relevant statement.

    Otherwise return silence before the last round, and `#### ?` in it.
    """
    conversation = " ".join((*request.texts, request.text))
    if knows_enough(task, _share(request), conversation):
        return f"{working} {task.answer_text}".strip()
    last = request.info["round"] + 1 >= request.info["rounds"]
    return "#### ?" if last else ""
