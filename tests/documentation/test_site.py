"""The site: tables made from the code, a page for every environment, and a strict build."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
import yaml
from conf_keys import all_keys
from places import ROOT

from laconic import envs

YAML = """\
# @package game
# What the file is.
defaults: [other]
_target_: a.Game
first: 1
# Second and third,
# on two lines.
second: [a, b]
third: null
# A group.
inner:
  # With | in it.
  deep: 1.0e-6
"""


@pytest.fixture(scope="module")
def hooks():
    """Load docs/hooks.py as MkDocs does."""
    spec = importlib.util.spec_from_file_location("laconic_docs_hooks", ROOT / "docs" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_settings_become_rows_of_key_value_and_comment(hooks, monkeypatch, tmp_path):
    (tmp_path / "conf" / "group").mkdir(parents=True)
    (tmp_path / "conf" / "group" / "one.yaml").write_text(YAML)
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    assert list(hooks.settings("group/one")) == [
        # The comment at the head is about the file, and a number stays as it is written.
        ("game.first", "1", ""),
        ("game.second", "[a, b]", "Second and third, on two lines."),
        ("game.third", "null", ""),
        ("game.inner", "", "A group."),
        ("game.inner.deep", "1.0e-6", "With | in it."),
    ]
    page = hooks.on_page_markdown("before\n<!-- settings: group/one -->\nafter")
    assert "| `game.inner.deep` | `1.0e-6` | With \\| in it. |\nafter" in page


def test_what_a_yaml_inherits_is_listed_with_it_and_the_base_explains_it(
    hooks, monkeypatch, tmp_path
):
    (tmp_path / "conf" / "group" / "base").mkdir(parents=True)
    (tmp_path / "conf" / "group" / "base" / "game.yaml").write_text(
        YAML.replace("# @package game\n", "").replace("defaults: [other]\n", "")
    )
    (tmp_path / "conf" / "group" / "one.yaml").write_text(
        "# Its own.\ndefaults: [base/game@_here_, _self_]\nsecond: [c]\n"
        "# For one.\nthird: {a: 1}\ninner: {deep: 2, new: 3}\n"
    )
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    assert list(hooks.settings("group/one")) == [
        ("group.first", "1", ""),
        ("group.second", "[c]", "Second and third, on two lines."),
        ("group.third", "{a: 1}", "For one."),
        ("group.inner", "", "A group."),
        ("group.inner.deep", "2", "With | in it."),
        ("group.inner.new", "3", ""),
    ]


def test_the_search_ranks_tutorials_and_guides_above_the_api(hooks):
    def boost(section, **meta):
        page = SimpleNamespace(ancestors=[SimpleNamespace(title=section)], meta=meta)
        hooks.on_page_markdown("text", page=page)
        return page.meta["search"]["boost"]

    assert boost("Tutorials") > boost("Guides") > boost("Background") > boost("Reference") == 1
    # The front matter of the API pages stays.
    assert boost("Reference", search={"boost": 0.3}) == 0.3
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    assert {*hooks.BOOSTS} <= {name for section in nav for name in section}
    api = (ROOT / "docs" / "api").glob("*.md")
    assert all("boost: 0.3" in page.read_text("utf-8") for page in api if page.stem != "index")


def test_a_mark_that_names_nothing_stops_the_build(hooks):
    with pytest.raises(FileNotFoundError):
        hooks.on_page_markdown("<!-- settings: env/gsm9k -->")
    with pytest.raises(LookupError, match="no mapping 'NONE'"):
        hooks.on_page_markdown("<!-- words: learners/metrics.py NONE -->")


def test_every_environment_has_a_page_with_its_settings_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    overview = (ROOT / "docs" / "environments" / "index.md").read_text("utf-8")
    for name in envs.names():
        page = (ROOT / "docs" / "environments" / f"{name}.md").read_text("utf-8")
        assert f"<!-- settings: env/{name} -->" in page
        assert f"environments/{name}.md" in text and f"({name}.md)" in overview


@pytest.mark.slow
def test_the_site_is_built_strictly(tmp_path):
    pytest.importorskip("mkdocs", reason="needs pip install 'laconic-marl[docs]'")
    pytest.importorskip("mkdocstrings", reason="needs pip install 'laconic-marl[docs]'")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site" / "environments" / "gsm8k" / "index.html").read_text("utf-8")
    assert "env.generator.level" in page and "Arithmetic steps, 1 to 8" in page


SHOWN = sorted(
    {
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"^<!-- settings: (\S+)", page.read_text("utf-8"), re.M)
    }
)


@pytest.mark.parametrize("name", SHOWN)
def test_every_setting_that_a_page_shows_has_a_meaning(hooks, name):
    assert [key for key, _, meaning in hooks.explained(name) if not meaning] == []


def test_a_setting_without_a_comment_has_the_meaning_of_its_field(hooks):
    meanings = {key: meaning for key, _, meaning in hooks.explained("learner/grpo")}
    # `learner/gspo` explains it, and `learner/grpo` does not build on it.
    assert "paper" in meanings["learner.objective.epsilon"]


def test_settings_that_no_yaml_shows_have_a_table_of_their_own(hooks):
    rows = {key: rest for key, *rest in hooks.hidden("train")}
    default, takes, meaning = rows["`agent.lora.rank`"]
    assert (default, takes) == ("`16`", "a whole number of at least 1") and meaning
    assert "`evaluation.demand`" in rows and len(rows) > 30
    # Shown by a yaml, declared by a package of others, set by programs.
    assert not {"`env.rounds`", "`optimizer.amsgrad`", "`env.split`"} & {*rows}
    assert all(meaning for _, _, meaning in rows.values())
    declared = {*all_keys()}
    assert {*hooks.LEFT_OUT} - declared <= {"logger.tensorboard.purge_step"}
    assert "| `env.channel.lose` | `0.0` |" in hooks.on_page_markdown("<!-- hidden: train -->")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("`train.checkpoint_every`", "checkpoint_every"),
        ("`eval/silence_rate`,", "silence_rate"),
        ("env.reward.price=0.5", "price"),
        ("laconic-train", "train"),
    ],
)
def test_the_search_finds_parts_of_names(text, word):
    plugins = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["plugins"]
    separator = next(each["search"]["separator"] for each in plugins if "search" in each)
    assert word in re.split(separator, text)


def listed_members():
    """Return each class or module of the API pages with a member that the page lists by name."""
    entry = re.compile(r"^::: (laconic[\w.]*)\n    options:\n      members: \[(.*)\]$", re.M)
    return [
        (owner, member.strip())
        for page in sorted((ROOT / "docs" / "api").glob("*.md"))
        for owner, members in entry.findall(page.read_text("utf-8"))
        for member in members.split(",")
    ]


def test_members_that_the_api_pages_list_do_what_they_say():
    members = listed_members()
    assert len(members) >= 8
    for owner, name in members:
        assert callable(getattr(resolve_name(owner), name)), f"{owner}.{name}"
    env = envs.make("signal", free=True, tasks=2, render_mode="ansi")
    for name in [name for owner, name in members if owner.endswith(".DialogueEnv")]:
        # What PettingZoo leaves to its subclasses raises NotImplementedError.
        getattr(env, name)(*([dict.fromkeys(env.agents, "")] if name == "step" else []))


def test_the_card_of_an_environment_is_the_table_of_its_section(hooks, monkeypatch, tmp_path):
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    table = "| fact | value |\n|---|---|\n| price | 0.12 |"
    (tmp_path / "docs" / "cards.md").write_text(f"# Cards\n\n## one\n\nno\n\n## two\n\n{table}\n")
    assert hooks.on_page_markdown("<!-- card: two -->") == table
    with pytest.raises(LookupError):
        hooks.on_page_markdown("<!-- card: three -->")
