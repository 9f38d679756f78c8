"""The command line of `laconic share`; `test_share_hub.py` tests the upload."""

from __future__ import annotations

import re
import shlex

import pytest

from laconic.extras.share import share


@pytest.mark.parametrize("arguments", [[], ["me/team", "folder=x"]])
def test_a_repository_or_a_folder_is_named_and_not_both(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        share.main(["run", *arguments])
    assert end.value.code == 2
    assert "expected a repository (<owner>/<name>) or folder=" in capsys.readouterr().err


def test_a_folder_without_policies_is_refused_in_words(capsys, tmp_path):
    with pytest.raises(SystemExit) as end:
        share.main([str(tmp_path), f"folder={tmp_path / 'new'}"])
    message = capsys.readouterr().err
    assert end.value.code == 1 and not (tmp_path / "new").exists()
    assert message.startswith("error: ") and "has no policies with a team.json" in message


def test_by_default_a_repository_is_private_and_its_commit_named_after_the_run(
    capsys, monkeypatch, tmp_path
):
    sent = []

    def push(folder, name, *, private, message):
        sent.append((name, private, message))
        return "https://hub/commit"

    monkeypatch.setattr(share, "assemble", lambda *places, **settings: None)
    monkeypatch.setattr(share, "push", push)
    run = str(tmp_path / "mine")
    share.main([run, "me/team"])
    share.main([run, "me/team", "public=true", "message=words"])
    assert sent == [("me/team", True, "Policies of mine"), ("me/team", False, "words")]
    assert capsys.readouterr().out == "sent: https://hub/commit\n" * 2


def test_the_command_on_the_card_gives_its_figures(trained, run, rows, tmp_path):
    card = (trained[0] / "policy" / "README.md").read_text("utf-8")
    (command,) = re.findall(r"^laconic evaluate (.*)$", card, re.M)
    overrides = shlex.split(
        command.replace("agent.model=policy", f"agent.model={trained[0]}/policy")
    )
    outcome = run("evaluate", *overrides, "threads=1", f"hydra.run.dir={tmp_path}/again")
    assert outcome.code == 0, outcome.err
    last, again = (rows(path / "metrics.jsonl")[-1] for path in (trained[0], tmp_path / "again"))
    names = [name for name in again if name.startswith("eval/")]
    assert names and {name: last[name] for name in names} == {name: again[name] for name in names}
