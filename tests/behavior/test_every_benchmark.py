"""What every benchmark promises, whatever its tasks are; PettingZoo's tests have their own file.

Benchmarks are found by listing the folder, so a new one is tested without a change here.
"""

from __future__ import annotations

import random
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import SettingError, SourceError, UnknownNameError
from laconic.envs.task import Benchmark, Task
from laconic.experiments.command_line.tree import CONF


@pytest.fixture(params=envs.names("benchmarks"), scope="module")
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    """Return each benchmark."""
    return envs.benchmark(request.param)


@pytest.fixture(scope="module")
def tasks(benchmark: Benchmark) -> tuple[Task, ...]:
    """Return a few generated tasks of the benchmark."""
    return benchmark.generate(0, 12)


@pytest.fixture(scope="module")
def settings(benchmark: Benchmark) -> Any:
    """Return the settings of its yaml."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=[f"env={benchmark.name}"])
    result = OmegaConf.to_container(cfg.env, resolve=True)
    for node in (result, result["budget"], result["reward"]):
        node.pop("_target_")
    return result


MODES = [pytest.param("full", marks=pytest.mark.slow), "split"]
"""Benchmarks that take seconds are tried with dealt statements, which covers full information.

PettingZoo's tests play every benchmark with full information by default."""


@pytest.fixture(params=["full", "split"])
def make(request: pytest.FixtureRequest, settings: Any) -> Any:
    """Makes the environment with these settings, in each information mode."""
    own = {"information": request.param, "instructions": "full", "tasks": 12}
    return lambda **more: envs.make(**settings | own | more)


@pytest.mark.parametrize("make", MODES, indirect=True)
def test_its_settings_keep_the_contract_in_both_information_modes(make: Any) -> None:
    check_env(make, episodes=2)


def test_it_is_named_like_its_yaml_and_who_is_to_answer_does(make: Any, benchmark: Any) -> None:
    env = make()
    assert env.benchmark is benchmark
    joint = any(task.drafts for task in env.tasks.values())
    answering = benchmark.roles if joint else benchmark.roles[:1]
    assert tuple(role_of(agent) for agent in env.answering) == answering
    assert {role_of(agent) for agent in env.possible_agents} <= set(benchmark.roles)


def test_every_task_is_solved_by_what_its_source_answers_and_by_nothing_less(
    benchmark: Benchmark, tasks: tuple[Task, ...]
) -> None:
    agents = [f"{role}_0" for role in benchmark.roles]
    for task in tasks[:4]:
        # A joint work is judged whole: there may be no words in it that commit to an answer.
        assert task.drafts or benchmark.committed(task.answer_text)
        answerers = agents if task.drafts else agents[:1]
        assert benchmark.score(task, {agent: answer_of(task, agent) for agent in answerers}).solved
        worthless = [dict.fromkeys(answerers, text) for text in ("", "#### ?", "\ud800\x00")]
        for empty in ({}, *worthless):
            score = benchmark.score(task, empty)
            assert (score.value, score.solved) == (0.0, False), empty
        assert benchmark.committed("") is benchmark.committed("#### ?") is None


@pytest.mark.parametrize("make", MODES, indirect=True)
def test_a_team_that_says_what_matters_solves_the_task(make: Any) -> None:
    env = make()
    for key, task in list(env.tasks.items())[:3]:
        observations, _ = env.reset(seed=0, options={"task": key})
        flags = task.relevant or (True,) * len(task.statements)
        while env.agents:
            messages = {
                agent: words_that_matter(env, task, agent, flags)
                for agent in env.agents
                if observations[agent]["tokens_left"][0]
            }
            observations, *_, infos = env.step(messages)
            assert not any(info["cut"] for info in infos.values()), messages
        assert all(info["solved"] and info["score"] > 0 for info in infos.values()), task


def words_that_matter(env: Any, task: Task, agent: str, flags: Any) -> str:
    """Return an answer, or the relevant statements of a share, once."""
    if agent in env.answering:
        return answer_of(task, agent)
    return env.benchmark.separator.join(task.statements[i] for i in env.shares[agent] if flags[i])


def answer_of(task: Task, agent: str) -> str:
    """Return the reference answer, or the best draft of the agent's role."""
    return task.drafts[role_of(agent)][0] if task.drafts else task.answer_text


def test_tasks_have_what_agents_read(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        assert task.question.strip() and task.answer and task.text.strip()
        # Who all write one piece of work may all read the whole task.
        assert task.statements or task.drafts
        assert all(text.strip() for text in task.statements)
        assert task.relevant is None or any(task.relevant)
    # Something can be left out, else silence would be no skill; all write where the work is joint.
    assert any(task.drafts or task.relevant is None or not all(task.relevant) for task in tasks)


def test_the_same_seed_gives_the_same_tasks_and_fewer_are_the_first(
    benchmark: Benchmark, tasks: tuple[Task, ...]
) -> None:
    before, array_before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert benchmark.generate(0, 12) == tasks
    assert benchmark.generate(0, 5) == tasks[:5]
    assert benchmark.generate(1, 12) != tasks
    assert benchmark.generate(0, 0) == ()
    assert random.getstate() == before
    assert np.random.get_state()[1].tolist() == array_before  # type: ignore[index]


def test_parts_share_no_task_over_several_seeds(benchmark: Benchmark) -> None:
    parts = {
        split: {task.text for seed in seeds for task in benchmark.generate(seed, 20, split=split)}
        for split, seeds in (("train", (0, 1, 2)), ("evaluation", (0, 1, 3)))
    }
    assert not parts["train"] & parts["evaluation"]
    assert len(parts["train"]) > 40


def test_an_unknown_setting_of_the_generator_is_refused(benchmark: Any) -> None:
    for name in {*signature(benchmark.generator).parameters} - {"count", "split"}:
        message = f"setting of env.generator '{name[:-1]}'. Did you mean '{name}'"
        with pytest.raises(UnknownNameError, match=message):
            benchmark.generate(0, 1, **{name[:-1]: 1})


def test_a_request_that_makes_no_sense_is_refused(benchmark: Any) -> None:
    with pytest.raises(SettingError, match="env.generator.seed must be a whole number; got 'x'"):
        benchmark.generate("x", 1)
    with pytest.raises(SettingError, match="count must be a whole number of at least 0; got -1"):
        benchmark.generate(0, -1)
    with pytest.raises(UnknownNameError, match="'evaluation'"):
        benchmark.generate(0, 1, split="eval")


@pytest.mark.parametrize("split", ["train", "evaluation"])
def test_a_bad_source_is_refused_by_its_name(
    benchmark: Benchmark, tmp_path: Path, split: Any
) -> None:
    for source in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(SourceError, match=str(source)):
            benchmark.load(source, split)
    (tmp_path / "test.jsonl").write_text('{"no field": "of anybody"}\n')
    with pytest.raises(SourceError, match=r"test\.jsonl:1: "):
        benchmark.load(tmp_path / "test.jsonl", split)
    (tmp_path / "test.jsonl").write_text("")
    with pytest.raises(SourceError, match="the source is empty"):
        benchmark.load(tmp_path / "test.jsonl", split)


def test_every_role_reads_what_it_is_to_do(benchmark: Benchmark) -> None:
    assert len(benchmark.roles) == len(set(benchmark.roles)) >= 2
    texts = {benchmark.instructions(role) for role in (*benchmark.roles, "somebody")}
    assert len(texts) == len(benchmark.roles) + 1
    assert all(50 < len(text) < 600 for text in texts)
    assert {benchmark.instructions(role, "brief") for role in benchmark.roles} == {""}
