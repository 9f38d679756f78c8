"""Provenance of a run folder."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf
from places import ROOT

import laconic
from laconic.experiments.run_folder import provenance


def test_an_entry_names_version_commit_command_start_and_device(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/train.py", "seed=1", "agent.model=a b"])
    entry = provenance.describe_process()
    assert entry["command"] == "train.py seed=1 'agent.model=a b'"
    assert entry["version"] == laconic.__version__ != ""
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$", entry["started"])
    assert entry["torch"] == torch.__version__ and entry["seconds"] == 0.0
    assert torch.cuda.is_available() or entry["device"].startswith("cpu (")


def test_a_job_of_a_sweep_has_a_command_of_its_own(monkeypatch):
    # The process has the words of the whole sweep; a launcher's own process has others.
    monkeypatch.setattr(sys, "argv", ["laconic", "-m", "seed=0,1", "hydra.sweep.dir=x"])
    job = {"mode": RunMode.MULTIRUN, "job": {"config_name": "measure_speed"}}
    job["overrides"] = {"task": ["seed=1", "agent.model='a b'"]}
    job["runtime"] = {"cwd": "/", "config_sources": []}
    monkeypatch.setattr(HydraConfig, "initialized", lambda: True)
    monkeypatch.setattr(HydraConfig, "get", lambda: OmegaConf.create(job))
    words = shlex.split(provenance.describe_process()["command"])
    assert words == ["laconic", "measure-speed", "seed=1", "agent.model='a b'"]


def test_the_commit_is_that_of_the_clone_and_of_no_other_repository(monkeypatch, tmp_path):
    provenance.commit.cache_clear()
    commit = provenance.commit()
    if (ROOT / ".git").exists():
        command = ["git", "rev-parse", "HEAD"]
        head = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        assert commit.removesuffix("-dirty") == head
    inside = tmp_path / "site-packages"
    inside.mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(provenance, "_ROOT", inside)
    provenance.commit.cache_clear()
    assert provenance.commit() is None
    provenance.commit.cache_clear()


def test_the_last_writer_of_a_folder_is_named(tmp_path):
    assert provenance.writer(tmp_path) == "an unknown version"
    path = tmp_path / provenance.NAME
    path.write_text(json.dumps([{"version": "1.0"}, {"version": "1.1", "commit": "abc"}]))
    assert provenance.writer(tmp_path) == "laconic 1.1 (commit abc)"
    for text in ("{", "{}", '"no"', "[1]"):
        path.write_text(text)
        assert provenance.read(tmp_path) == []
