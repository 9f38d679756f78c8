"""Play one entry of a comparison: make environments and policies, play episodes, return a row."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session.alone import WRITER, append_instructions, single_writer
from laconic.experiments.session.evaluation import (
    AfterEvaluation,
    evaluation_starts,
    record,
    run_hooks,
)
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.setup import (
    Environments,
    hidden_metrics,
    make_evaluation,
    make_team,
    playing_with,
    rank_seed,
)
from laconic.experiments.session.team_layouts import LayoutError
from laconic.extras.compare.columns import PlayedEntry, prepare
from laconic.extras.compare.entries import MATCHED, Entry
from laconic.extras.compare.rows import Row, figures_of
from laconic.extras.compare.vote import vote, votes_for
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import prefixed, summarize
from laconic.learners.rollout.play import Start, play

_APART = 1_000_003
"""Distance between the seeds of two samples of a task."""


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
        cfg: configuration of the entry.
        entry: the entry.
        counter: tokenizer that counts the tokens of all entries.
        team: number of agents of each role in the environment as configured.
        folder: folder of the entry.
        interrupt: checked between batches.
        reference: row whose tokens a matched vote or cap spends; None for other entries.
        processes: process group; each process plays its share and has all episodes.
        columns: further measurements.

    Raises:
        KeyboardInterrupt: the user stopped the comparison.
        LayoutError: the script cannot play this environment, or `silenced` names no agent.
    """
    notes: list[str] = []
    if entry.cap == MATCHED and reference is not None:
        cap = math.ceil(reference.figures["tokens_said"].mean)
        cfg = cast(DictConfig, OmegaConf.merge(cfg, {"env": {"budget": {"episode": cap}}}))
        notes.append(f"at most {cap} tokens said, the mean of {reference.name}")
    builder = make_team(cfg)
    environments = make_evaluation(cfg, cfg.evaluation.split, builder, tokenize=counter)
    notes += _adapt(environments, entry, team)
    match = PlayedEntry(
        cfg,
        environments,
        _policies(entry, builder, environments[0]),
        evaluation_starts(environments, cfg.evaluation.tasks),
        folder,
        processes=processes,
        entry=entry,
        tokenize=counter,
    )
    match = prepare(columns, match)
    seconds: list[float] = []
    with playing_with(cfg, match.policies, folder.path, processes):
        episodes, votes = _episodes(match, interrupt, reference, notes, seconds)
    notes += free_thoughts(environments[0], episodes)
    played = replace(match, episodes=episodes)
    findings = run_hooks(columns, played)
    record(played, cfg.evaluation.transcripts, findings)
    means = {name: figure.mean for name, figure in findings.figures.items()}
    metrics = prefixed({**summarize(episodes), **means}, "eval/")
    folder.append_metrics({"step": 0, **metrics, **findings.metrics})
    figures = {**figures_of(episodes, seconds), **findings.figures}
    return Row(
        entry.name,
        "finished",
        tuple(notes),
        len(episodes),
        votes,
        entry.script is not None,
        figures,
    )


def _policies(entry: Entry, builder: Any, environment: Any) -> Mapping[str, Policy]:
    """Return the policy of each agent: those of the team, and silent ones."""
    try:
        policies: Mapping[str, Policy] = builder.policies(environment)
    except SettingError as error:
        if entry.script is None:
            raise
        # Some scripts read tasks, and only know those of this project's benchmarks.
        raise LayoutError(str(error)) from error
    absent = [agent for agent in entry.silenced if agent not in policies]
    if absent:
        raise LayoutError(f"silenced must name agents of {', '.join(policies)}; got {absent[0]}")
    mute = ScriptedPolicy(lambda *_: "", {})
    return {**policies, **dict.fromkeys(entry.silenced, mute)}


def free_thoughts(environment: Any, episodes: Sequence[Episode]) -> list[str]:
    """Return a note if agents think without a cap, because entries may then think unequally."""
    capped = getattr(getattr(environment, "budget", None), "thought", None) is not None
    thinks = any(sum(episode.tokens_thought.values()) for episode in episodes)
    return ["its thoughts have no cap (env.budget.thought)"] if thinks and not capped else []


def _adapt(environments: Environments, entry: Entry, team: Mapping[str, int]) -> list[str]:
    """Give the agents the entry's own instructions; return notes for the reader."""
    dialogues = [env for env in environments if isinstance(env, DialogueEnv)]
    for environment in dialogues:
        if environment.possible_agents == [f"{WRITER}_0"]:
            single_writer(environment, team)
        if entry.say:
            append_instructions(environment, entry.say)
    if not any(environment.instructions == "brief" for environment in dialogues):
        return []
    notes = []
    if entry.say:
        notes.append("its policy reads neither instructions (env.instructions=brief) nor say")
    if entry.layout != "team":
        notes.append(
            "its policy was trained for the environment as configured, not for this layout"
        )
    return notes


def _episodes(
    match: PlayedEntry,
    interrupt: Interrupt,
    reference: Row | None,
    notes: list[str],
    seconds: list[float],
) -> tuple[list[Episode], int | None]:
    """Play the episodes of a row; return them and the number of samples per episode.

    Adds to `notes` what a reader has to know, and to `seconds` the time per episode of each batch.
    """
    # Warm up, so that work done once per process does not count as time of an episode.
    with _cuttable(interrupt, match.processes):
        play(match.environments[:1], match.policies, match.starts[:1], seed=0, greedy=True)
    first = _sample(match, interrupt, 0, seconds)
    environment = match.environments[0]
    votes = match.entry.votes
    if votes is None or not isinstance(environment, DialogueEnv):
        return first, None
    votes = int(votes) if votes != MATCHED else 0
    if reference is not None:
        goal = reference.spent.mean
        means = summarize(first)
        tokens = means.get("tokens_spent", means["tokens_said"])
        votes = votes_for(goal, tokens, match.cfg.entry.most_votes)
        notes.append(
            f"{votes} samples of {tokens:.1f} tokens for the {goal:.1f} of {reference.name}"
        )
    samples = [first, *(_sample(match, interrupt, n, seconds) for n in range(1, votes))]
    return [vote(environment, plays) for plays in zip(*samples, strict=True)], votes


def _sample(
    match: PlayedEntry, interrupt: Interrupt, number: int, seconds: list[float]
) -> list[Episode]:
    """Play every start once; samples of a task differ in the seed of their replies.

    Further samples add their time to the `seconds` of the first one's batches.
    """
    episodes: list[Episode] = []
    batches = _batches(match.starts, len(match.environments))
    words = f"{match.entry.name}, sample {number + 1}" if number else match.entry.name
    hidden = hidden_metrics(match.environments[0], match.policies)
    with Progress(len(match.starts), words, hidden=hidden) as progress:
        for place, batch in enumerate(batches):
            if match.processes.any(interrupt.is_set()):
                raise KeyboardInterrupt
            began = time.perf_counter()
            seed = match.cfg.seed + len(episodes) + number * _APART
            with _cuttable(interrupt, match.processes):
                episodes += match.processes.map_sharded(batch, partial(_play, match, seed))
            duration = (time.perf_counter() - began) / len(batch)
            if number:
                seconds[place] += duration
            else:
                seconds.append(duration)
            progress.update(len(episodes), summarize(episodes))
    return episodes


def _cuttable(interrupt: Interrupt, processes: Processes) -> AbstractContextManager[None]:
    """Allow a signal to interrupt this context, unless several processes play."""
    return interrupt.cuttable() if processes.count == 1 else nullcontext()


def _play(match: PlayedEntry, seed: int, starts: Sequence[Start]) -> list[Episode]:
    """Play a process's share of a batch."""
    own = rank_seed(seed, match.processes.rank)
    greedy = match.cfg.evaluation.greedy
    return play(match.environments, match.policies, starts, seed=own, greedy=greedy)


def _batches(starts: Sequence[Start], most: int) -> list[Sequence[Start]]:
    """Divide starts into the fewest batches of nearly equal size, so that times are comparable."""
    count = -(-len(starts) // most)
    borders = [len(starts) * place // count for place in range(count + 1)]
    return [starts[low:high] for low, high in zip(borders, borders[1:], strict=False)]
