"""A trained team goes to the hub and comes back: to stock libraries, and to ours, bit for bit.

The hub is a stand-in on this machine (`tests/support/hub.py`). What only the real one has, such as
its storage for large files, is not tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from places import ROOT

VISITOR = ROOT / "tests" / "support" / "visitor.py"
TOKEN = "hf_of_the_tests"
BASE = "someone/base"

pytestmark = pytest.mark.slow


@pytest.fixture
def call(hub, tmp_path):
    """Run Python in a process that knows no other hub, with a cache of its own."""
    own = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
    plain = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}

    def run(*arguments: str, fail: bool = False, **more: str) -> str:
        completed = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env={**environment, **own, **plain, **more},
            cwd=tmp_path,
            timeout=300,
        )
        assert (completed.returncode != 0) == fail, completed.stderr
        return completed.stderr if fail else completed.stdout.splitlines()[-1]

    return run


@pytest.fixture
def base(hub, policy_folder) -> str:
    """Return the base model as it is on the hub."""
    hub.files[BASE] = {path.name: path.read_bytes() for path in policy_folder.iterdir()}
    return BASE


KINDS = {
    "shared": [],
    "separate": ["agent.sharing=separate"],
    "lora": ["agent.sharing=lora", "agent.lora.rank=2"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_agent_comes_back_the_same(run, small, call, hub, base, tmp_path, kind):
    folder, more = tmp_path / "run", KINDS[kind]
    arguments = [*small, *more, "train.steps=2", "logger=none", "optimizer.lr=0.01"]
    outcome = run("train", *arguments, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    here = json.loads(call(str(VISITOR), "laconic", str(folder / "policy"), *more))
    assert len(here) == 4 and len({tuple(policies) for policies in here.values()}) == (
        1 if kind == "shared" else 4
    )

    options = [f"base={base}"] if kind == "lora" else []
    message = call("-m", "laconic.extras.share.share", str(folder), "me/team", *options)
    assert message == f"sent: {hub.address}/me/team/commit/{hub.sha('me/team')}"
    assert hub.made["me/team"]["visibility"] == "private"
    assert hub.messages == ["Policies of run"]

    its_base = ["someone/base"] if options else []
    stock = json.loads(call(str(VISITOR), "stock", "me/team", *its_base))
    assert stock == here
    assert json.loads(call(str(VISITOR), "laconic", "me/team", *more)) == here
    # Once it is here, the hub is not needed.
    offline = call(str(VISITOR), "laconic", "me/team", *more, HF_HUB_OFFLINE="1")
    assert json.loads(offline) == here

    card = ModelCard(hub.files["me/team"]["README.md"].decode())
    assert card.data.library_name == ("peft" if kind == "lora" else "transformers")
    assert card.data.base_model == (BASE if kind == "lora" else None)
    assert str(tmp_path) not in "".join(
        data.decode(errors="replace") for data in hub.files["me/team"].values()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_ordinary_calls_send_the_policy_of_a_training(
    run, small, call, hub, policy_folder, tmp_path, kind
):
    folder, more = tmp_path / "run", KINDS[kind]
    arguments = [*small, *more, "train.steps=1", "logger=none", "optimizer.lr=0.01"]
    outcome = run("train", *arguments, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    policy = folder / "policy"
    here = json.loads(call(str(VISITOR), "laconic", str(policy), *more))

    hf = Path(sys.executable).with_name("hf")
    call(str(hf), "upload", "me/uploaded", str(policy), "--private")
    assert hub.made["me/uploaded"]["visibility"] == "private"
    assert hub.files["me/uploaded"] == {
        path.relative_to(policy).as_posix(): path.read_bytes()
        for path in policy.rglob("*")
        if path.is_file()
    }
    base = [str(policy_folder)] if kind == "lora" else []
    assert json.loads(call(str(VISITOR), "stock", "me/uploaded", *base)) == here

    place = "" if kind == "shared" else "helper_0"
    pushed = call(str(VISITOR), "push", "me/pushed", str(policy), place, *base)
    assert json.loads(pushed) == here["helper_0"]
    weights = "adapter_model.safetensors" if base else "model.safetensors"
    assert {weights, "tokenizer.json"} <= set(hub.files["me/pushed"])


def test_a_mixed_team_comes_back_without_its_frozen_members(
    run, small, call, hub, policy_folder, tmp_path
):
    members = "agent.members"
    team = [
        "agent=mixed",
        "+agent@agent.members.helper_1=scripted",
        f"{members}.solver.model={policy_folder}",
        f"{members}.helper.model={policy_folder}",
        f"{members}.helper.sharing=separate",
    ]
    sizes = [text for text in small if not text.startswith("agent.")]
    arguments = [*sizes, *team, "train.steps=1", "logger=none", "optimizer.lr=0.01"]
    outcome = run("train", *arguments, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    here = json.loads(call(str(VISITOR), "laconic", str(tmp_path / "run/policy"), *team))
    call("-m", "laconic.extras.share.share", str(tmp_path / "run"), "me/mixed", "public=true")
    assert hub.made["me/mixed"]["visibility"] == "public"
    held = {path.split("/")[0] for path in hub.files["me/mixed"]}
    assert held == {"helper_0", "helper_2", "README.md", "team.json"}
    assert json.loads(call(str(VISITOR), "laconic", "me/mixed", *team)) == here
    stock = json.loads(call(str(VISITOR), "stock", "me/mixed"))
    assert stock == {agent: here[agent] for agent in ("helper_0", "helper_2")}


def test_without_the_right_token_nothing_is_sent_and_the_reason_is_said(trained, call, hub):
    message = call(
        "-m", "laconic.extras.share.share", str(trained[0]), "me/team", fail=True, HF_TOKEN="no"
    )
    assert message.startswith("error: ") and "401" in message and "Traceback" not in message
    assert hub.files == {}
