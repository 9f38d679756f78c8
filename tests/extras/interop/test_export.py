"""`laconic export` and `laconic import` on an evaluation that was played."""

from __future__ import annotations

import json

import pytest

from laconic.extras.interop import chat, export


@pytest.fixture(scope="module")
def played(run, small, tmp_path_factory):
    """The folder of an evaluation with token ids."""
    folder = tmp_path_factory.mktemp("played") / "run"
    overrides = [text for text in small if text.startswith(("agent.", "env.", "threads"))]
    tokens = ["evaluation.tokens=true", "evaluation.tasks=3", f"hydra.run.dir={folder}"]
    outcome = run("evaluate", *overrides, *tokens)
    assert outcome.code == 0, outcome.err
    return folder


def test_an_evaluation_comes_back_byte_for_byte(played, tmp_path, capsys) -> None:
    export.main([str(played), f"to={tmp_path / 'chat.jsonl'}"])
    # Four agents speak in each of three episodes.
    assert "3 episodes, 12 lines" in capsys.readouterr().out
    chat.main([str(tmp_path / "chat.jsonl"), str(tmp_path / "back")])
    before, after = (
        (folder / "episodes.jsonl").read_bytes() for folder in (played, tmp_path / "back")
    )
    assert before == after
    (turn, *_) = json.loads(before.splitlines()[0])["episode"]["turns"]
    assert turn["reply_ids"] and len(turn["reply_ids"]) == len(turn["behavior_logprobs"])
    # The settings of the environment come back too, with who hears whom.
    pairs = [chat.recorded_episodes(folder) for folder in (played, tmp_path / "back")]
    assert pairs[0] == pairs[1] and pairs[0][0].env["topology"] == "star"


def test_traces_are_one_a_line(played, capsys) -> None:
    export.main([str(played), "format=trace"])
    lines = (played / "trace.jsonl").read_text().splitlines()
    assert len(lines) == 3 and json.loads(lines[0])["system"] == "laconic"


def test_an_evaluation_without_tokens_says_how_to_get_them(run, small, tmp_path, capsys) -> None:
    overrides = [text for text in small if text.startswith(("agent.", "env.", "threads"))]
    folder = tmp_path / "run"
    run("evaluate", *overrides, "evaluation.tasks=1", f"hydra.run.dir={folder}")
    export.main([str(folder)])
    assert "evaluation.tokens=true records them" in capsys.readouterr().out


def test_another_folder_is_refused_in_one_line(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        export.main([str(tmp_path)])
    error = capsys.readouterr().err
    assert stopped.value.code == 1 and "has none" in error and error.count("\n") == 1
