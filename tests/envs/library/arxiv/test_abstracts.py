from __future__ import annotations

from random import Random

from laconic.envs.families.writing.measures import connectives, spaced_words
from laconic.envs.library.arxiv.abstracts import HISTORY, background, generate, invent, method


def test_a_study_compares_two_data_sets_and_takes_two_steps() -> None:
    studies = [invent(Random(seed)) for seed in range(50)]
    for study in studies:
        assert study["data"] != study["other_data"] and study["step"] != study["other_step"]
        assert study["Task"].lower() == study["task"].lower() and study["Task"][0].isupper()
        assert 2 <= study["gain"] <= 19 and 3 <= study["speed"] <= 40 and 2 <= study["hours"] <= 23
    assert len({study["name"] for study in studies}) > 30


def test_the_best_drafts_fit_and_others_leave_out_or_repeat_what_they_are_said_to() -> None:
    for seed in range(50):
        study = invent(Random(seed))
        whole, plain, longer, short = background(study)
        # The thresholds of the benchmark: 128 to 256 words.
        assert 128 <= spaced_words(whole) <= 256 and spaced_words(short) < 128
        assert longer == " ".join((*HISTORY, whole)) and whole.startswith(short)
        full, bare, *cut, again = method(study)
        assert again == f"{whole} {full}" and spaced_words(again) > 256
        assert all(full.startswith(text) for text in cut)
        assert len(connectives(whole, full)) > len(connectives(plain, bare))


def test_everybody_reads_the_abstract_and_the_best_drafts_are_the_answer() -> None:
    tasks = generate(0, 20, "evaluation")
    assert len({task.text for task in tasks}) == 20
    for task in tasks:
        assert task.answer == "\n".join(texts[0] for texts in task.drafts.values())
        assert list(task.drafts) == ["background", "method"]
        assert not set("{}[]|") & set(task.text)
