"""The model card of a training, and the folder that `laconic share` sends."""

from __future__ import annotations

import ast
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from laconic.envs.dialogue.messages import printable
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.runs import read_run
from laconic.extras.share.card import (
    evaluation_command,
    model_card,
)
from laconic.extras.share.share import assemble, main


def card_of(folder: Path) -> ModelCard:
    return ModelCard((folder / "policy" / "README.md").read_text("utf-8"))


def test_the_card_has_the_figures_of_the_last_evaluation(trained, rows):
    card, last = card_of(trained[0]), rows(trained[0] / "metrics.jsonl")[-1]
    assert card.data.eval_results
    for result in card.data.eval_results:
        assert math.isclose(result.metric_value, last[f"eval/{result.metric_type}"], abs_tol=1e-6)
        # No result of the benchmark itself is claimed.
        assert result.dataset_type == "laconic-gsm8k-generated"
    text = card.text
    assert "| tokens said |" in text and "- seed: 0" in text and "price: 0.12 for 12 tokens" in text
    assert {"laconic", "gspo"} <= set(card.data.tags)


def test_a_card_names_no_path_of_this_machine(trained, policy_folder):
    text = (trained[0] / "policy" / "README.md").read_text("utf-8")
    assert str(policy_folder.parent) not in text and str(Path.home()) not in text


FOREIGN = {"_target_": "my_package.Password", "price": 0.02}
UNPRICED = {"name": "tldr", "source": "/home/me/posts", "reward": {"price": 0.0}}


@pytest.mark.parametrize(
    ("env", "name"), [(FOREIGN, "my_package.Password"), (UNPRICED, "tldr (<posts>)")]
)
def test_a_card_without_price_and_source_does_not_mention_them(trained, env, name):
    run = read_run(trained[0])
    assert "pay for every token" in (text := card_of(trained[0]).text) and "few words" in text
    plain = {
        step: {name: value for name, value in row.items() if name != "train/price"}
        for step, row in run.metrics.items()
    }
    run = replace(run, settings={"env": env}, metrics=plain)
    card = model_card(run, trained[0] / "policy")
    assert {result.dataset_name for result in card.data.eval_results} == {name}
    assert "pay for" not in card.text and "few words" not in card.text and "None" not in card.text
    if env is FOREIGN:
        assert "- price:" not in card.text and "measured on this environment, in one" in card.text
        assert "topology" not in card.text and "not trained on" not in card.text


def test_the_command_on_a_card_names_no_path_either(trained):
    overrides = ("agent=mixed", "agent.members.solver.model=/home/me/weights")
    settings = {"env": {"name": "gsm8k", "source": "/home/me/data"}}
    run = replace(read_run(trained[0]), overrides=overrides, settings=settings)
    command = evaluation_command(run, "me/team")
    assert "/home" not in command and "env.source=<data>" in command.replace('"', "")
    assert "agent.members.solver.model=<weights>" in command


@pytest.fixture
def adapters(tmp_path) -> Path:
    """Make a run with an adapter whose base model is a local folder."""
    run = tmp_path / "run"
    (run / "policy" / "a_0").mkdir(parents=True)
    (run / "policy" / "team.json").write_text('{"a_0": "a_0"}')
    settings = {"base_model_name_or_path": "/somewhere/base", "r": 2}
    (run / "policy" / "a_0" / "adapter_config.json").write_text(json.dumps(settings))
    (run / "policy" / "a_0" / "adapter_model.safetensors").write_bytes(b"weights")
    return run


def test_adapters_are_sent_with_a_base_that_others_have(adapters, tmp_path):
    with pytest.raises(SettingError, match="'/somewhere/base', which is not on the hub; pass"):
        assemble(adapters, tmp_path / "out", "me/team", base=None, license=None)
    assert not (tmp_path / "out").exists()
    assemble(adapters, tmp_path / "out", "me/team", base="someone/base", license="apache-2.0")
    sent = json.loads((tmp_path / "out" / "a_0" / "adapter_config.json").read_text())
    assert sent == {"base_model_name_or_path": "someone/base", "r": 2}
    config = json.loads((adapters / "policy" / "a_0" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "/somewhere/base"
    card = ModelCard((tmp_path / "out" / "README.md").read_text())
    assert card.data.base_model == "someone/base" and card.data.license == "apache-2.0"
    assert "## Figures\n\nThe run was never evaluated.\n\n## Training" in card.text
    assert "|---|---|\n| `a_0` | `a_0/` |\n\n```python\nfrom peft import PeftModel\n" in card.text
    assert 'base = AutoModelForCausalLM.from_pretrained("someone/base")\n' in card.text
    assert 'from_pretrained(base, "me/team", subfolder="a_0")\ntokenizer = ' in card.text


def test_unsuitable_folders_are_refused_in_one_line(adapters, tmp_path, capsys):
    for arguments, words in [
        ([str(tmp_path)], "expected a repository"),
        ([str(tmp_path), "me/team"], "has no policies"),
        ([str(adapters), f"folder={tmp_path}"], "exists already"),
        ([str(adapters), f"folder={tmp_path / 'new'}"], "pass base="),
    ]:
        with pytest.raises(SystemExit):
            main(arguments)
        assert words in capsys.readouterr().err


EVIL = [
    "<script>alert(1)</script>",
    "a\n\n<img src=http://evil/x onerror=alert(1)>\n",
    "[click](http://evil)",
    "![seen](http://evil/pixel.png)",
    "`<b>",
    "``` \n```\n<iframe src=http://evil>\n```",
    "~~~\n# heading\n<b>",
    "x | y |\n|---|\n| <b>",
    "<!-- ",
    "&lt;b&gt; \\<b> \x1b[2J",
    "---\nlicense: evil\n---\n<b>",
    'a"), __import__("os").system("x',
]


def _tokens(text):
    """Return the kinds of Markdown in a card, also those within lines, and the tokens."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    every = [each for token in tokens for each in (token, *(token.children or ()))]
    return [each.type for each in every], every


@pytest.mark.parametrize("text", EVIL)
def test_texts_of_a_run_folder_are_plain_text_on_a_card(trained, tmp_path, text):
    policy = tmp_path / "policy"
    shutil.copytree(trained[0] / "policy", policy)
    run = read_run(trained[0])
    usual, _ = _tokens(model_card(run, policy, "me/team").text)
    settings = {**run.settings, "agent": {**run.group("agent"), "sampling": {"silence": text}}}
    settings["env"] = {**run.group("env"), "name": text, "instructions": text, "source": text}
    settings["env"]["reward"] = {"price": text, "normalizer": text, "charge": text, "when": text}
    run = replace(
        run,
        settings=settings,
        overrides=(*run.overrides, f"+x={text}"),
        warnings=(text, "learner/skipped_steps"),
        state=text,
        seed=text,
    )
    (policy / "team.json").write_text(json.dumps({f"{text}_{n}": text for n in range(2)}))
    card = model_card(run, policy, "me/team")
    kinds, every = _tokens(card.text)
    assert not {"html_block", "html_inline", "link_open", "image"} & set(kinds)
    for kind in ("heading_open", "fence"):
        assert kinds.count(kind) == usual.count(kind) > 0, kind
    # The second warning.
    assert kinds.count("list_item_open") >= usual.count("list_item_open") + 2
    words = " ".join(printable(text).split("\n")).strip()
    kinds_of_text = ("inline", "code_inline", "fence")
    assert any(words in token.content for token in every if token.type in kinds_of_text)
    assert "\x1b" not in str(card)
    assert card.data.to_dict().get("license") is None
    python = [block for block in every if block.type == "fence" and block.info == "python"]
    for block in python:
        calls = [node for node in ast.walk(ast.parse(block.content)) if isinstance(node, ast.Call)]
        assert {node.func.attr for node in calls} == {"from_pretrained"}
    assert len(python) == 1
