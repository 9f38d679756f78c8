"""Agents that follow a script: baselines, tests, and the speakers a warm start learns from.

They read the task behind the episode, which language policies never see. `oracle` says what matters
once and nothing else; `telegraph` the same in few words, which its own answerer understands;
`verbose` says all it knows in many words; `random` says random words, some of them answers;
`silent` says nothing. A scripted answerer is right exactly when everything that
matters was said to it or is its own. Where all agents write one piece of work, `oracle` writes the
best draft of its role and `verbose` the last. `Teacher` mixes these manners; a warm start imitates
it. Where a team plays a world by acts, `oracle`, `verbose` and further scripts are the world's own
(`envs.worlds.base.World.script`).
"""

from __future__ import annotations

import random
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task, knows_enough, named_tasks, relevant_statements
from laconic.envs.worlds import TeacherStyle, World
from laconic.learners.agents.acting import of_world
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

_NO_TASK = Task(key="", question="", statements=(), answer="")
"""What a script is shown in an environment whose tasks are not known here."""
_ANYWHERE = ("random", "silent")
"""Scripts that look at no task."""


class ScriptedPolicy:
    """One script that speaks for any agent."""

    def __init__(self, script: Script, tasks: Mapping[str, Task]) -> None:
        """Join a script with the tasks it may look at.

        Args:
            script: from task, request and generator to a message.
            tasks: the environment's tasks by key; empty for a script that looks at none.
        """
        self._script = script
        self._tasks = tasks

    def know(self, tasks: Mapping[str, Task]) -> None:
        """Look at further tasks: those of the evaluation, for a script that plays in a training.

        Raises:
            SettingError: two tasks have one key, so that a script could take one for the other.
        """
        clash = [key for key, task in tasks.items() if self._tasks.get(key, task) != task]
        if clash:
            raise SettingError(
                "a scripted member needs different keys for training and evaluation tasks; both"
                f" have {clash[0]!r}"
            )
        self._tasks = {**self._tasks, **tasks}

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer all requests; `greedy` makes no difference to a script."""
        generator = random.Random(seed)
        tasks = (
            self._tasks[request.info["task"]] if self._tasks else _NO_TASK for request in requests
        )
        return [
            Reply(self._script(task, request, generator))
            for task, request in zip(tasks, requests, strict=True)
        ]


@dataclass
class ScriptedTeam:
    """A team in which every agent follows the same script."""

    script: str = "oracle"
    """`oracle`, `telegraph`, `verbose`, `random` or `silent`; or one of a world, as `share` and
    `constant:10` of `commons`."""
    tokenize: Tokenize = split_words
    """Cuts text into tokens; environments count budgets with it."""

    @staticmethod
    def defaults(imitates: bool = False) -> dict[str, Any]:
        """Return the settings of other groups that suit scripts, by dotted key."""
        return {"env.instructions": "full"}

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, ScriptedPolicy]:
        """Return one policy for all agents.

        Raises:
            UnknownNameError: there is no script of this name.
            SettingError: the script needs tasks of `envs.task.Task`, and the environment has none;
                or it is a script of dialogues, and the environment is a world without it.
        """
        world = getattr(environment, "world", None)
        if isinstance(world, World) and self.script not in _ANYWHERE:
            if self.script in NAMES and self.script not in world.script_names:
                scripts = ", ".join((*world.script_names, *_ANYWHERE))
                raise SettingError(
                    f"agent.script={self.script} is for dialogues; {world.name} has the scripts"
                    f" {scripts}"
                )
            policy = ScriptedPolicy(of_world(world.script(self.script)), {})
            return dict.fromkeys(environment.possible_agents, policy)
        if self.script not in NAMES:
            raise UnknownNameError("agent.script", self.script, NAMES)
        tasks = getattr(environment, "tasks", None)
        named = tasks.items() if isinstance(tasks, Mapping) else ()
        known = {key: task for key, task in named if isinstance(task, Task)}
        if self.script not in _ANYWHERE and not known:
            raise SettingError(
                f"agent.script={self.script} needs an environment whose `tasks` are of"
                f" envs.task.Task; got {type(environment).__name__}. {' and '.join(_ANYWHERE)} play"
                " anywhere"
            )
        script = Telegraph(known.values()) if self.script == TELEGRAPH else SCRIPTS[self.script]
        policy = ScriptedPolicy(script, known)
        return dict.fromkeys(environment.possible_agents, policy)


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
    known = _known(task, request) or "nothing at all."
    before, after = generator.choice(_WORDY_FRAMES[:frames])
    return f"{before} {known} {after}"


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
    """A speaker of mixed manners: mostly wordy, now and then terse, now and then silent."""

    terse: float = 0.2
    """Share of messages that state the facts, or the working and answer, and nothing else."""
    silent_informed: float = 0.05
    """Share of turns with something useful to say in which it says nothing."""
    silent_uninformed: float = 0.25
    """Share of turns with nothing useful to say in which it says nothing."""
    best: float = 0.2
    """Where all agents write one piece of work: share of messages that are the best draft there is;
    the others are any draft. In a world, share of acts that are the best where nobody asked for
    any."""
    frames: int = len(_WORDY_FRAMES)
    """Wordings around what it says, at least 1. With several, being terse may be the likeliest
    single manner although most messages are wordy, and a greedy policy is terse then."""
    bare: float = 0.0
    """Share of answers without their working, so that a learner gets to try what it is worth."""
    calculated: float = 0.0
    """Share of answers that calculate at once, without first repeating the facts they are from."""

    def __post_init__(self) -> None:
        """Check that there is a wording.

        Raises:
            SettingError: there is none, or not so many.
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
            # Nothing is drawn where there are none: what earlier seeds taught stays as it was.
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
            return _known(task, request)
        return _verbose(task, request, generator, self.frames)


def taught(teacher: Teacher, environment: ParallelEnv[str, Any, Any]) -> ScriptedPolicy:
    """Return a teacher as a policy; in a world, the world's own teacher in this style."""
    played = getattr(environment, "world", None)
    if not isinstance(played, World):
        return ScriptedPolicy(teacher, named_tasks(environment))
    style = TeacherStyle(teacher.terse, teacher.silent_uninformed, teacher.best, teacher.frames)
    return ScriptedPolicy(of_world(played.teacher(style)), {})


SCRIPTS: dict[str, Script] = {
    "oracle": _oracle,
    "verbose": _verbose,
    "random": _random,
    "silent": _silent,
}


TELEGRAPH = "telegraph"
NAMES = (*SCRIPTS, TELEGRAPH)
"""All scripts; the last needs to know the whole source (`Telegraph`)."""


class Telegraph:
    """Speaks as `oracle` does, in few words of each statement that no other of a source has."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Shorten all statements of a source."""
        self._short = telegrams(text for task in tasks for text in task.statements)

    def __call__(self, task: Task, request: Request, generator: random.Random) -> str:
        """Return the message; an answering agent reads a telegram as its statement."""
        if task.drafts or not _answers(request):
            said = _oracle(task, request, generator)
            known = relevant_statements(task, _share(request)) if said and not task.drafts else ()
            return " ".join(self._short[text] for text in known) or said
        heard = " ".join((*request.texts, request.text))
        meant = [text for text in task.statements if self._short[text] in heard]
        return _answer(task, replace(request, text=" ".join((request.text, *meant))))


def telegrams(statements: Iterable[str]) -> dict[str, str]:
    """For each statement few of its words, in their order, that no other statement has all of.

    Words are added one by one, each the one that leaves the fewest others, which may be a word more
    than the fewest. A statement whose words another has all of stays whole.
    """
    split = {one: one.split() for one in dict.fromkeys(statements)}
    having: defaultdict[str, set[str]] = defaultdict(set)
    for one, words in split.items():
        for word in words:
            having[word].add(one)
    return {one: _telegram(one, words, having) for one, words in split.items()}


def _telegram(statement: str, words: Sequence[str], having: Mapping[str, set[str]]) -> str:
    chosen: set[int] = set()
    others: set[str] | None = None
    while others is None or others - {statement}:
        rest = [place for place in range(len(words)) if place not in chosen]
        if not rest:
            return statement
        left = {at: having[words[at]] & (others or having[words[at]]) for at in rest}
        best = min(rest, key=lambda at: len(left[at]))
        if others is not None and len(left[best]) == len(others):
            return statement
        chosen.add(best)
        others = left[best]
    return " ".join(words[at] for at in sorted(chosen))


def _draft(task: Task, request: Request, index: int = 0) -> str:
    """One of the drafts of the agent's role, the best first; once written it is let stand."""
    drafts = task.drafts.get(role_of(request.agent), ())
    written = any(reply.message for reply in request.history)
    return drafts[index] if drafts and not written else ""


def _share(request: Request) -> Sequence[int]:
    share: Sequence[int] = request.info.get("share", ())
    return share


def _known(task: Task, request: Request) -> str:
    return " ".join(task.statements[index] for index in _share(request))


def _answers(request: Request) -> bool:
    return bool(request.info.get("answering", False))


def _working(task: Task, request: Request) -> str:
    """Return the relevant statements in the order in which they were heard, and what follows."""
    heard = " ".join((*request.texts, request.text))
    flags = task.relevant or (False,) * len(task.statements)
    facts = [text for text, flag in zip(task.statements, flags, strict=True) if flag]
    return " ".join([*sorted(facts, key=heard.find), task.solution])


def _answer(task: Task, request: Request, working: str = "") -> str:
    """Return the reference answer if every relevant statement is known, else only a mark.

    Before the last round an answerer that lacks something waits.
    """
    heard = " ".join((*request.texts, request.text))
    if knows_enough(task, _share(request), heard):
        return f"{working} {task.answer_text}".strip()
    last = request.info["round"] + 1 >= request.info["rounds"]
    return "#### ?" if last else ""
