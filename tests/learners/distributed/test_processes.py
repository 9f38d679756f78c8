"""Several processes take the step that one takes on the same groups; here they are threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_module
from hydra.utils import instantiate
from updates import replies

from laconic.learners.agents.hf import HFPolicy
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.errors import ProcessError
from laconic.learners.interfaces import Request
from laconic.learners.training.sequences import TokenSequence
from laconic.learners.training.trainer import microbatches_of_rank

SGD = partial(torch.optim.SGD, lr=0.01)
METHODS = ("magrpo", "reinforce_plus_plus", "ippo", "sdpo")
"""One with a policy for each agent, one that whitens over all sequences, one with a critic, and one
that computes its replies again after other texts."""
FURTHER = ("gspo", "grpo", "mc_grpo", "rae", "agent_gspo", "mappo")
PAYS = [[1.0, 0.0, 0.25], [0.0, 0.0, 1.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
"""Four groups of three episodes, of which the last teaches nothing."""


class Threads(Processes):
    """One of several threads that exchange values."""

    def __init__(self, rank: int, count: int, table: dict[str, Any], sharded: bool) -> None:
        self.rank, self.count, self.sharded = rank, count, sharded
        self._table = table

    def gather(self, values):
        self._table[self.rank] = values
        self._table["barrier"].wait()
        gathered = [value for rank in range(self.count) for value in self._table[rank]]
        self._table["barrier"].wait()
        return gathered

    def add(self, tensor):
        tensor.copy_(sum(self.gather([tensor.clone()])))


def threads(count: int, sharded: bool = False) -> list[Processes]:
    if count == 1:
        return [SINGLE_PROCESS]
    table = {"barrier": threading.Barrier(count, timeout=20)}
    return [Threads(rank, count, table, sharded) for rank in range(count)]


def together(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of functions, each in its own thread."""
    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result() for future in [pool.submit(function) for function in functions]]


@cache
def composed(method: str) -> Any:
    with initialize_config_module("laconic.conf", version_base="1.3"):
        return compose("train", overrides=[f"learner={method}", "agent=tiny"])


def episode(policies: dict[str, HFPolicy], task: str, pay: float, draw: int) -> Episode:
    """Let the helper speak twice and the solver once; a longer task name is a longer prompt."""
    turns, pasts = [], dict.fromkeys(policies, ())
    for number, agent in ((0, "helper_0"), (0, "solver_0"), (1, "helper_0")):
        text = f"Hello {agent}, {task}."
        request = Request(agent, text, pasts[agent], (text,) * len(pasts[agent]))
        (reply,) = replies(policies[agent], [request], draw + number)
        pasts[agent] = (*pasts[agent], reply)
        tokens = (reply.prompt_ids, reply.reply_ids, reply.behavior_logprobs)
        turns.append(Turn(agent, number, "said", *tokens, read=text))
    return Episode(task, tuple(turns), {agent: (0.0, pay) for agent in policies})


@pytest.fixture
def make_policies(make_policy) -> Callable[[bool], dict[str, HFPolicy]]:
    """Equal teams at every call."""

    def make(separate: bool) -> dict[str, HFPolicy]:
        first = make_policy(max_reply_tokens=6)
        other = make_policy(max_reply_tokens=6, model={"seed": 1}) if separate else first
        return {"helper_0": first, "solver_0": other}

    return make


@pytest.fixture
def update(make_policies):
    """Return a function that updates a team on some processes: metrics and models of each."""

    def call(method: str, count: int, change=lambda groups: groups, sharded=False, **settings):
        cfg = composed(method)
        teams = [make_policies(cfg.learner.get("sharing") == "separate") for _ in range(count)]
        groups = change(
            [
                Group(name, tuple(episode(teams[0], name, p, 10 * i) for i, p in enumerate(pays)))
                for name, pays in zip(("a", "some", "a task" * 6, "b"), PAYS, strict=True)
            ]
        )
        learners = [
            instantiate(cfg.learner, _partial_=True, _convert_="all", **settings)(
                team, SGD, processes=processes
            )
            for team, processes in zip(teams, threads(count, sharded), strict=True)
        ]
        metrics = together([partial(learner.update, groups) for learner in learners])
        models = [[policy.model for policy in dict.fromkeys(team.values())] for team in teams]
        return metrics, models

    return call


def largest_difference(models: Sequence[Any], others: Sequence[Any], gradients: bool) -> float:
    """Return the largest difference of the weights of models, or of their last gradients."""
    pairs = [
        pair
        for models in zip(models, others, strict=True)
        for pair in zip(*(model.parameters() for model in models), strict=True)
    ]
    tensors = [(p.grad, q.grad) if gradients else (p.detach(), q.detach()) for p, q in pairs]
    return max(float((p - q).abs().max()) for p, q in tensors if p is not None)


@pytest.mark.parametrize(
    "method", [*METHODS, *(pytest.param(method, marks=pytest.mark.slow) for method in FURTHER)]
)
def test_two_processes_take_the_step_that_one_takes_on_the_same_groups(update, method):
    (expected,), (alone,) = update(method, 1)
    metrics, models = update(method, 2)
    assert expected["steps"] >= 1 and expected["grad_norm"] > 1e-4
    assert metrics[0] == metrics[1]
    assert metrics[0] == pytest.approx(expected, rel=2e-4, abs=2e-6)
    assert largest_difference(alone, models[0], gradients=True) < 2e-5 * expected["grad_norm"]
    assert largest_difference(alone, models[0], gradients=False) < 1e-6
    assert largest_difference(models[0], models[1], gradients=False) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("sharded", (False, True))
def test_a_process_without_sequences_of_its_own_takes_the_step_too(update, sharded):
    # 3 sequences of each agent's replies to each of 4 minibatches, at most, for 5 processes.
    settings = {"minibatches": 8, "microbatch_tokens": 30}
    (expected,), (alone,) = update("gspo", 1, **settings)
    metrics, models = update("gspo", 5, sharded=sharded, **settings)
    assert expected["steps"] == 8
    assert all(row == pytest.approx(expected, rel=2e-4, abs=2e-6) for row in metrics)
    assert all(largest_difference(alone, model, gradients=False) < 1e-6 for model in models)


def test_a_step_that_is_not_finite_on_one_process_is_skipped_by_all(update):
    def spoil(groups):
        first = groups[0].episodes[0]
        turn = first.turns[0]
        spoilt = replace(turn, behavior_logprobs=(math.nan,) * len(turn.reply_ids))
        changed = replace(first, turns=(spoilt, *first.turns[1:]))
        return [replace(groups[0], episodes=(changed, *groups[0].episodes[1:])), *groups[1:]]

    (expected,), (alone,) = update("gspo", 1, spoil)
    metrics, models = update("gspo", 2, spoil)
    assert expected["skipped_steps"] == 1 and expected["steps"] == 3
    assert metrics[0] == metrics[1] == pytest.approx(expected, rel=2e-4, abs=2e-6)
    assert largest_difference(alone, models[1], gradients=False) < 1e-6


def sequence(length: int) -> TokenSequence:
    """Return a sequence of one reply token after a prompt."""
    generated = (False,) * (length - 1) + (True,)
    return TokenSequence("t", "a", 0, None, (length,) * length, generated, (0.0,) * length, 0.0)


def lengths(
    batches: Sequence[tuple[Sequence[TokenSequence], float]],
) -> list[tuple[list[int], float]]:
    return [([len(sequence.token_ids) for sequence in part], factor) for part, factor in batches]


def test_sequences_are_dealt_out_by_length_and_equal_ones_together():
    batch = [sequence(length) for length in (9, 2, 8, 3, 2)]
    first, second = (
        microbatches_of_rank(batch, 100, process_result) for process_result in threads(2)
    )
    assert lengths(first) == [([2, 2], 1.0), ([8], 1.0)]
    assert lengths(second) == [([3], 1.0), ([9], 1.0)]


def test_with_weights_in_parts_all_make_as_many_passes():
    batch = [sequence(length) for length in (9, 2, 3)]
    first, second = (
        microbatches_of_rank(batch, 100, process_result)
        for process_result in threads(2, sharded=True)
    )
    assert lengths(first) == [([2], 2.0), ([9], 2.0)]
    # The second one only keeps step with the first.
    assert lengths(second) == [([3], 2.0), ([2], 0.0)]


@pytest.mark.parametrize("count", (1, 2, 3, 7))
def test_work_is_spread_in_whole_items_and_comes_back_in_order(count):
    every = threads(count)
    shares = [list(process.local_shard(range(5))) for process in every]
    assert sum(shares, []) == [0, 1, 2, 3, 4]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    double = partial(
        Processes.map_sharded, items=range(5), function=lambda own: [2 * n for n in own]
    )
    assert together([partial(double, process) for process in every]) == [[0, 2, 4, 6, 8]] * count


def test_what_the_main_process_does_is_done_once_and_known_to_all():
    finished = []
    every = threads(3)
    results = together(
        [partial(process.main, lambda: finished.append(1) or len(finished)) for process in every]
    )
    assert results == [1, 1, 1] and finished == [1]


def test_what_fails_on_the_main_process_ends_the_others():
    def fail():
        raise OSError("disk full")

    def outcome(process):
        try:
            process.main(fail)
        except BaseException as error:
            return error

    first, second = together([partial(outcome, process_result) for process_result in threads(2)])
    assert isinstance(first, OSError)
    assert isinstance(second, SystemExit) and second.code == 1


def test_counts_are_summed_and_a_flag_of_one_is_known_to_all():
    every = threads(2)
    counts = ({"replays": 2.0}, {"replays": 3.0, "other": 1.0})
    pairs = zip(every, counts, strict=True)
    totals = together([partial(process.total, count) for process, count in pairs])
    assert totals == [{"replays": 5.0, "other": 1.0}] * 2
    assert together([partial(process.any, process.rank == 1) for process in every]) == [True, True]
    assert SINGLE_PROCESS.total({"replays": 2.0}) == {"replays": 2.0} and not SINGLE_PROCESS.any(
        False
    )


def test_all_hear_of_what_fails_in_the_share_of_one():
    def work(share):
        return [10 // value for value in share]

    def call(processes):
        with pytest.raises((ZeroDivisionError, ProcessError)) as caught:
            processes.map_sharded([5, 0, 2], work)
        return caught.value

    # The second has 0 and 2.
    first, second = together([partial(call, process_result) for process_result in threads(2)])
    assert isinstance(second, ZeroDivisionError)
    assert str(first) == f"process 1 of 2 failed: {second}"
