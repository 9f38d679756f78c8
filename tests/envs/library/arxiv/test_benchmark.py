from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import DATA
from written import write

from laconic import envs
from laconic.envs.benchmarks import sources
from laconic.envs.benchmarks.sources import rows
from laconic.envs.errors import SourceError, UnknownNameError
from laconic.envs.library.arxiv.benchmark import BENCHMARK, Arxiv
from laconic.envs.task import Task

ROOT = DATA
SCITLDR, ACL = ROOT / "scitldr_abstracts", ROOT / "acl_abstract_intro" / "papers.jsonl.gz"
needs_scitldr = pytest.mark.skipif(not SCITLDR.is_dir(), reason=f"no SciTLDR in {SCITLDR}")
needs_acl = pytest.mark.skipif(not ACL.is_file(), reason=f"no ACL abstracts in {ACL}")

SENTENCES = ["We count  words.\n", "They are many.  "]
TEXT = "We count words. They are many."


def test_it_is_the_benchmark_of_its_name() -> None:
    assert isinstance(envs.benchmark("arxiv"), Arxiv)
    assert BENCHMARK.roles == ("background", "method")


@pytest.mark.parametrize(
    ("row", "question", "answer"),
    [
        ({"source": SENTENCES, "target": ["x"]}, TEXT, ""),
        ({"source": SENTENCES, "title": "Words"}, f"TITLE: Words\n\nABSTRACT: {TEXT}", ""),
        ({"abstract_text": SENTENCES, "introduction_text": ["On.", "Off."]}, TEXT, "On. Off."),
        ({"abstract_text": f" {TEXT}\n", "title": " "}, TEXT, ""),
        ({"abstract_text": [f"<S> {sentence} </S>" for sentence in SENTENCES]}, TEXT, ""),
    ],
)
def test_an_abstract_is_a_text_or_a_list_of_sentences(
    tmp_path: Path, row: Any, question: str, answer: str
) -> None:
    assert BENCHMARK.load(write(tmp_path / "own.jsonl", row)) == (
        Task("own/1", question, (), answer),
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"title": "Words"}, "expected the field 'abstract_text'"),
        ({"abstract": TEXT}, "Did you mean 'abstract'"),
        ({"source": 3}, "field 'source' to be a str; got int 3"),
        ({"source": ["A.", 3]}, "field 'source' to be a text or a list of sentences; got 3 in it"),
        ({"source": []}, "expected a text; the field 'source' is empty"),
        ({"abstract_text": [" ", "<S></S>"]}, "the field 'abstract_text' is empty"),
        ({"source": ["A."], "introduction_text": ""}, "the field 'introduction_text' is empty"),
        ({"source": ["A."], "title": 1}, "field 'title' to be a str; got int 1"),
        (["a"], "expected a JSON object"),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    file = write(tmp_path / "test.jsonl", {"source": SENTENCES}, row)
    with pytest.raises(SourceError) as caught:
        BENCHMARK.load(tmp_path)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert message in str(caught.value)


def test_the_data_set_of_the_paper_has_its_own_name_for_a_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def hub_rows(source: str, split: Any, files: Any) -> Any:
        calls.append((source, files[split]))
        yield "hub:1", {"abstract_text": TEXT}

    monkeypatch.setattr(sources, "_hub_rows", hub_rows)
    assert [task.key for task in BENCHMARK.load("hub:OpenMLRL/arXiv_abstract")] == ["val/1"]
    BENCHMARK.load("hub:OpenMLRL/arXiv_abstract#own", "train")
    BENCHMARK.load("hub:somebody/abstracts")
    assert [split for _, split in calls] == ["val", "train", "test"]


@needs_scitldr
@pytest.mark.parametrize(
    ("file", "split", "count"),
    [("", "train", 1992), ("dev.jsonl.gz", "evaluation", 619), ("", "evaluation", 309)],
)
def test_all_real_abstracts_load_and_lose_no_word(file: str, split: Any, count: int) -> None:
    source = SCITLDR / file
    tasks = BENCHMARK.load(source, split)
    assert len(tasks) == len({task.key for task in tasks}) == count
    for task, (_, row) in zip(tasks, rows(source, split), strict=True):
        assert task.question.startswith(f"TITLE: {row['title'].strip()}\n\nABSTRACT: ")
        abstract = task.question.partition("ABSTRACT: ")[2]
        assert abstract.split() == " ".join(row["source"]).split()


@needs_acl
def test_all_real_introductions_load_as_references() -> None:
    tasks = BENCHMARK.load(ACL)
    assert len(tasks) == len({task.key for task in tasks}) == 343
    for task, (_, row) in zip(tasks, rows(ACL), strict=True):
        assert " ".join(" ".join(row["abstract_text"]).split()) in task.question
        assert task.answer.split() == " ".join(row["introduction_text"]).split()


@needs_acl
def test_a_real_abstract_alone_is_no_introduction() -> None:
    for task in BENCHMARK.load(ACL)[:50]:
        same = {"background_0": task.question, "method_0": task.question}
        # The second text has to be longer than the first.
        assert not BENCHMARK.score(task, same).solved


def test_no_words_are_free_of_charge() -> None:
    (task,) = BENCHMARK.generate(0, 1)
    for text in ("#### 4", task.answer, task.answer_text, ""):
        assert BENCHMARK.committed(text) is None


def test_every_role_gets_instructions() -> None:
    for role in (*BENCHMARK.roles, "verifier"):
        assert "128 to 256 words" in BENCHMARK.instructions(role)


def test_the_generator_has_no_setting_but_the_seed() -> None:
    with pytest.raises(UnknownNameError, match="setting of env.generator 'level'"):
        BENCHMARK.generate(0, 1, level=1)
