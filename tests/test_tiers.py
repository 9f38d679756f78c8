"""The quick tier has what runs in one process, and a test of it that starts another one fails."""

from __future__ import annotations

import os
import subprocess

import pytest
import tiers

from laconic import envs


def names_a_starter():
    subprocess.run(["true"])


def uses_a_helper():
    return [names_a_starter for _ in range(2)]


def names_none():
    return os.getpid()


def names_a_graded_environment():
    return envs.make("mbpp")


def test_code_is_searched_with_its_helpers():
    assert tiers.starts(names_a_starter) and tiers.starts(uses_a_helper)
    assert tiers.starts(names_a_graded_environment)
    assert not tiers.starts(names_none)
    # The project's own code is not: only the guard sees what it starts.
    assert not tiers.starts(envs.make)


@pytest.mark.parametrize("start", [names_a_starter, lambda: os.system("true"), os.fork])
def test_no_process_starts_in_a_quick_test(monkeypatch, start):
    monkeypatch.setattr(tiers, "_started", started := [])
    with monkeypatch.context() as quick, pytest.raises(RuntimeError, match="quick test"):
        quick.setattr(tiers, "_quick", True)
        start()
    # Code that takes no notice of the error is found by what was noted.
    assert len(started) == 1


def test_what_starts_nothing_is_quick(request):
    assert request.node.get_closest_marker("quick")


def test_what_names_a_starter_is_not(request):
    assert not request.node.get_closest_marker("quick") and subprocess


@pytest.mark.parametrize("name", (*tiers.FOLDERS, *tiers.KEPT))
def test_what_is_listed_exists(name):
    assert (tiers.TESTS / name).exists()


def test_the_graded_environments_are_the_ones_with_a_sandbox_or_a_helper():
    assert set(tiers.GRADED) <= set(envs.names())
