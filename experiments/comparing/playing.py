"""Plays one entry of a comparison: environments, policies, episodes, a row."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.comparing import drafts
from laconic.experiments.comparing.arrange import caps_of
from laconic.experiments.comparing.columns import PlayedEntry
from laconic.experiments.comparing.entries import MATCHED, Entry
from laconic.experiments.comparing.rows import Row, figures_of
from laconic.experiments.comparing.vote import vote, votes_for
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.alone import WRITER, let_write_all, tell
from laconic.experiments.session.evaluation import (
    AfterEvaluation,
    evaluation_starts,
    record,
    run_hooks,
)
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.setup import (
    Environments,
    make_evaluation,
    make_team,
    playing_with,
    rank_seed,
)
from laconic.experiments.session.team_layouts import PASS, Unfit
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import prefixed, summarize
from laconic.learners.rollout.play import Start, play

_APART = 1_000_003
"""Distance between the seeds of two samples of a task."""


@dataclass(slots=True)
class Match:
    """Everything an entry is played with."""

    cfg: DictConfig
    entry: Entry
    environments: Environments
    policies: Mapping[str, Policy]
    starts: Sequence[Start]
    interrupt: Interrupt
    processes: Processes = SINGLE_PROCESS
    seconds: list[float] = field(default_factory=list)
    """Time per episode of each batch, seconds; samples of a vote add to their batch."""

    def cuttable(self) -> AbstractContextManager[None]:
        """What is played in this context a signal may cut off, where there is but one process."""
        return self.interrupt.cuttable() if self.processes.count == 1 else nullcontext()


def play_entry(
    cfg: DictConfig,
    entry: Entry,
    counter: Any,
    team: Mapping[str, int],
    folder: RunFolder,
    interrupt: Interrupt,
    reference: Row | None,
    processes: Processes = SINGLE_PROCESS,
    columns: Sequence[AfterEvaluation] = (),
) -> Row:
    """Play an entry and record it in its folder.

    Args:
        cfg: the entry's own configuration.
        entry: what it is.
        counter: cuts text into the tokens of all entries.
        team: number of agents of each role in the environment as configured.
        folder: of the entry.
        interrupt: asked between batches.
        reference: the row whose tokens a matched vote takes; None for other entries.
        processes: each plays its share, and records all.
        columns: what else is measured of it.

    Raises:
        KeyboardInterrupt: the user has asked to stop.
        Unfit: its script cannot play this environment, or has none of the agents that it silences.
    """
    cfg = _capped(cfg, entry, reference)
    builder = make_team(cfg)
    environments = make_evaluation(cfg, cfg.evaluation.split, builder, tokenize=counter)
    notes = _adapt(environments, entry, team)
    policies = _speakers(entry, builder, environments[0], folder, counter)
    starts = evaluation_starts(environments, cfg.evaluation.tasks)
    match = Match(cfg, entry, environments, policies, starts, interrupt, processes)
    with playing_with(cfg, policies, folder.path, processes):
        episodes, votes = _episodes(match, reference, notes)
    notes += free_thoughts(environments[0], episodes)
    if entry.shape == PASS:
        drafts.save(folder.path, episodes)
    played = PlayedEntry(
        cfg,
        environments,
        policies,
        starts,
        folder,
        episodes,
        processes=processes,
        entry=entry,
        tokenize=counter,
    )
    findings = run_hooks(columns, played)
    record(played, cfg.evaluation.transcripts, findings)
    means = {name: one.mean for name, one in findings.figures.items()}
    metrics = prefixed({**summarize(episodes), **means}, "eval/")
    folder.append_metrics({"step": 0, **metrics, **findings.metrics})
    figures = {**figures_of(episodes, match.seconds), **findings.figures}
    return Row(
        entry.name,
        "finished",
        tuple(notes),
        len(episodes),
        votes,
        caps_of(environments[0]),
        entry.script is not None,
        figures,
    )


def _capped(cfg: DictConfig, entry: Entry, reference: Row | None) -> DictConfig:
    """Settings with the cap of a matched entry: the mean tokens its reference says, rounded up."""
    if entry.cap != MATCHED or reference is None:
        return cfg
    cap = {"budget": {"episode": math.ceil(reference.figures["tokens_said"].mean)}}
    return cast(DictConfig, OmegaConf.merge(cfg, {"env": cap}))


def _speakers(
    entry: Entry, builder: Any, environment: Any, folder: RunFolder, counter: Any
) -> Mapping[str, Policy]:
    """Who speaks in an entry: its policies, whose drafts another one wrote, and who is silent."""
    try:
        policies: Mapping[str, Policy] = builder.policies(environment)
    except SettingError as error:
        if entry.script is None:
            raise
        # A script that looks at tasks, and tasks that are not ours.
        raise Unfit(str(error)) from error
    if entry.draft is not None:
        found = drafts.read(folder.path.parent / entry.draft)
        found = drafts.emptied(found, environment, counter) if entry.blank else found
        policies = drafts.with_drafter(policies, found)
    absent = [agent for agent in entry.silenced if agent not in policies]
    if absent:
        raise Unfit(f"there is no {absent[0]} to silence, but {', '.join(policies)}")
    mute = ScriptedPolicy(lambda *_: "", {})
    return {**policies, **dict.fromkeys(entry.silenced, mute)}


def free_thoughts(environment: Any, episodes: Sequence[Episode]) -> list[str]:
    """A note where somebody thinks and nothing caps it, so that entries may differ in it."""
    capped = getattr(getattr(environment, "budget", None), "thought", None) is not None
    thinks = any(sum(one.tokens_thought.values()) for one in episodes)
    return ["no cap holds its thoughts (env.budget.thought)"] if thinks and not capped else []


def _adapt(environments: Environments, entry: Entry, team: Mapping[str, int]) -> list[str]:
    """Tell agents what the entry tells them, and say what a reader has to know of it."""
    dialogues = [one for one in environments if isinstance(one, DialogueEnv)]
    for environment in dialogues:
        if environment.possible_agents == [f"{WRITER}_0"]:
            let_write_all(environment, team)
        if entry.say:
            tell(environment, entry.say)
    if not any(one.instructions == "brief" for one in dialogues):
        return []
    notes = []
    if entry.say:
        notes.append("its policy reads no instructions (env.instructions=brief) and no words")
    if entry.shape != "team":
        notes.append("its policy was made for the environment as configured, not for this shape")
    return notes


def _episodes(
    match: Match, reference: Row | None, notes: list[str]
) -> tuple[list[Episode], int | None]:
    """The episodes of a row, and how many samples are behind each."""
    # What is done once in a process, such as tuning a library, is no episode's time.
    with match.cuttable():
        play(match.environments[:1], match.policies, match.starts[:1], seed=0, greedy=True)
    first = _sample(match, 0)
    environment = match.environments[0]
    votes = match.entry.votes
    if votes is None or not isinstance(environment, DialogueEnv):
        return first, None
    votes = int(votes) if votes != MATCHED else 0
    if reference is not None:
        goal = reference.spent.mean
        found = summarize(first)
        one = found.get("tokens_spent", found["tokens_said"])
        votes = votes_for(goal, one, match.cfg.entry.most_votes)
        notes.append(f"{votes} samples of {one:.1f} tokens for the {goal:.1f} of {reference.name}")
    samples = [first, *(_sample(match, number) for number in range(1, votes))]
    return [vote(environment, one) for one in zip(*samples, strict=True)], votes


def _sample(match: Match, number: int) -> list[Episode]:
    """Play every start once; the samples of a task differ in the seed of what is sampled."""
    episodes: list[Episode] = []
    batches = _batches(match.starts, len(match.environments))
    words = f"{match.entry.name}, sample {number + 1}" if number else match.entry.name
    with Progress(len(match.starts), words) as progress:
        for place, batch in enumerate(batches):
            if match.processes.any(match.interrupt.is_set()):
                raise KeyboardInterrupt
            began = time.perf_counter()
            seed = match.cfg.seed + len(episodes) + number * _APART
            with match.cuttable():
                episodes += match.processes.map_sharded(batch, partial(_play, match, seed))
            taken = (time.perf_counter() - began) / len(batch)
            if number:
                match.seconds[place] += taken
            else:
                match.seconds.append(taken)
            progress.update(len(episodes), summarize(episodes))
    return episodes


def _play(match: Match, seed: int, starts: Sequence[Start]) -> list[Episode]:
    """Play a process's share of a batch."""
    own = rank_seed(seed, match.processes.rank)
    greedy = match.cfg.evaluation.greedy
    return play(match.environments, match.policies, starts, seed=own, greedy=greedy)


def _batches(starts: Sequence[Start], most: int) -> list[Sequence[Start]]:
    """The starts in as few batches as will do, of nearly equal size: so their times compare."""
    count = -(-len(starts) // most)
    borders = [len(starts) * place // count for place in range(count + 1)]
    return [starts[low:high] for low, high in zip(borders, borders[1:], strict=False)]
