from __future__ import annotations

import time

import pytest

from laconic import envs
from laconic.envs.dialogue.messages import REVISE
from laconic.envs.errors import UnknownNameError
from laconic.envs.families.writing import grading
from laconic.envs.families.writing.levels import SOLVED, Levels, Plateau
from laconic.envs.families.writing.measures import source_overlap
from laconic.envs.library.arxiv import benchmark as arxiv
from laconic.envs.library.tldr import benchmark as tldr
from laconic.envs.task import Task

TASK = Task("post", "Summarise.", (), "")
SHORT = "My aunt has sold my old boat and refuses to pay."
LONG = (
    "First my aunt borrowed my boat for a weekend at the lake in June, but then she sold it there."
    " I feel sad because grandfather built it with love."
)


def told(levels: Levels, *texts: str) -> tuple[str, str]:
    agents = [f"{role}_0" for role in levels.roles]
    score = grading.score(levels, dict(zip(agents, texts, strict=True)))
    feedback = grading.findings(levels, score.detail, agents)
    return feedback[agents[0]], feedback[agents[1]]


def test_texts_of_one_role_are_joined_by_line_breaks_in_the_order_of_agents() -> None:
    answers = {"concise_0": "one", "detailed_0": "two", "concise_1": "three", "judge_0": "four"}
    assert grading.texts_of(answers, ("concise", "detailed")) == ("one\nthree", "two")
    assert grading.texts_of({}, ("concise", "detailed")) == ("", "")


def test_agents_of_one_role_are_graded_as_one() -> None:
    whole = {"concise_0": SHORT, "detailed_0": LONG.replace(". I", ".\nI")}
    shared = dict(zip(("detailed_0", "detailed_1"), LONG.split(". I"), strict=True))
    parts = {"concise_0": SHORT, "detailed_0": shared["detailed_0"] + "."}
    parts["detailed_1"] = "I" + shared["detailed_1"]
    assert grading.score(tldr.LEVELS, parts) == grading.score(tldr.LEVELS, whole)


def test_a_missing_agent_counts_as_the_empty_text() -> None:
    for answers in ({}, {"detailed_0": LONG}, {"concise_0": SHORT}, {"solver_0": LONG}):
        score = tldr.BENCHMARK.score(TASK, answers)
        assert (score.value, score.solved) == (0.0, False)
        assert score.detail["stopped"] == "length"


def test_a_score_says_what_each_level_earned() -> None:
    score = tldr.BENCHMARK.score(TASK, {"concise_0": SHORT, "detailed_0": LONG})
    # Four kinds of connectives: order, contrast, time (then), cause; 0.4 * 0.55 + 0.6.
    assert score.detail["points"] == {
        "length": 0.5,
        "length_ratio": 1.0,
        "word_ratio": 0.5,
        "style": pytest.approx(0.82),
    }
    assert score.value == pytest.approx(2.82) and score.solved
    assert score.answer == f"{SHORT}\n\n{LONG}"
    # aunt sold old boat refuses pay; first aunt borrowed boat weekend lake june sold feel sad
    # grandfather built love: 6 and 13 words, 3 of them in both.
    measured = score.detail["found"]
    assert measured["words"] == (11, 29)
    assert measured["length_ratio"] == len(LONG) / len(SHORT)
    assert measured["word_ratio"] == 13 / 6
    assert measured["connectives"] == ("contrast", "cause", "order", "time")
    assert measured["overlap"] == 3 / 16


def test_as_many_points_as_are_needed_solve_and_fewer_do_not() -> None:
    # Two of four words are shared: 0.5 + 1 + 0.5 + 0.6 * 0.5 / 0.6 = 2.5, and 2.49 for 0.61.
    answers = {"concise_0": "apple boat", "detailed_0": "apple boat river stone"}
    for expected, solved in ((0.6, True), (0.61, False)):
        levels = Levels(
            ("concise", "detailed"), (1, 9), Plateau(0, 1), Plateau(0, 1), expected, False
        )
        graded = grading.score(levels, answers)
        assert graded.solved is solved
        assert (graded.value == SOLVED) is solved


def test_whoever_writes_too_little_is_told_so() -> None:
    concise, detailed = told(tldr.LEVELS, "My boat.", LONG)
    assert concise.splitlines() == [
        "Length, 0.00 of 0.5 points: your text has 2 words and that of detailed 29; 8 to 256 are"
        " wanted of each, so write more.",
        "The grading stopped here.",
    ]
    assert "your text has 29 words and that of concise 2; 8 to 256 are wanted of each." in detailed
    assert "so write less" in told(tldr.LEVELS, "boat " * 300, LONG)[0]


def test_each_author_hears_what_it_can_do_about_a_ratio() -> None:
    concise, detailed = told(tldr.LEVELS, SHORT, SHORT)
    assert "Ratio of lengths, 0.00 of 1 points: the text of detailed has 1.00 times" in concise
    assert concise.splitlines()[1].endswith("1.6 to 3.2 times are wanted, so use fewer than now.")
    assert detailed.splitlines()[1].endswith("1.6 to 3.2 times are wanted, so use more than now.")
    concise, detailed = told(tldr.LEVELS, SHORT, f"{LONG} {LONG} {LONG}")
    assert concise.splitlines()[1].endswith("so use more than now.")
    assert detailed.splitlines()[1].endswith("so use fewer than now.")


def test_a_poor_vocabulary_is_named() -> None:
    concise, detailed = told(tldr.LEVELS, SHORT, f"{SHORT} {SHORT}")
    assert "Ratio of vocabularies, 0.00 of 0.5 points: the text of detailed has 1.00" in detailed
    assert "at least 2 times are wanted, so use more than now" in detailed
    assert concise.endswith("The grading stopped here.")
    assert "no words but stop-words" in told(tldr.LEVELS, "it is " * 10, "is it " * 20)[0]


def test_style_is_told_in_kinds_of_connectives_and_shared_words() -> None:
    concise, detailed = told(tldr.LEVELS, SHORT, LONG)
    assert detailed.splitlines()[-1] == (
        "Style, 0.82 of 1 points: the text of detailed has connectives of 4 kinds out of 12"
        " (contrast, cause, order, time), more kinds earn more; 0.19 of all different words stand"
        " in both texts, 0.03 was wanted."
    )
    assert "more kinds earn more" not in concise
    (task,) = arxiv.BENCHMARK.generate(0, 1)
    for message in told(arxiv.LEVELS, task.drafts["background"][1], task.drafts["method"][1]):
        assert "both texts have connectives of" in message and "more kinds earn more" in message


def test_findings_of_agents_that_do_not_write_are_left_out() -> None:
    score = grading.score(tldr.LEVELS, {})
    agents = ["concise_0", "concise_1", "judge_0"]
    assert list(grading.findings(tldr.LEVELS, score.detail, agents)) == agents[:2]


def test_level_feedback_reaches_the_agents_between_rounds() -> None:
    env = envs.make("tldr", rounds=2, feedback="level")
    env.reset(seed=0)
    observations, *_ = env.step({"concise_0": SHORT, "detailed_0": SHORT})
    text = observations["detailed_0"]["text"]
    assert "1.6 to 3.2 times are wanted, so use more than now." in text and text.endswith(REVISE)


HOSTILE = {
    "empty": "",
    "white space": " \n\t" * 1000,
    "stop-words": "the of and " * 80,
    "one long word": "a" * 1_000_000,
    "a million characters in short words": "a " * 500_000,
    "a million characters in few pieces": " ".join(["a-" * 4_000] * 125),
    "connectives without end": " ".join(["as-soon-" * 1_000] * 125),
    "apostrophes": " ".join(["'a'" * 2_000] * 125),
    "another script": "это совсем другое письмо " * 40,
    "no spaces between words": "这是一个没有空格的文本" * 100,
    "marks that combine": "e\u0301\u0300" * 50_000,
    "nul bytes": "\x00 " * 200 + "\x00",
    "lone surrogates": "\ud800 \udfff " * 100,
    "direction marks": "\u202e abc \u202c" * 100,
    "capital of another length": "İSTANBUL ẞ " * 64,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "levels",
    # The levels are graded by one code; they differ in their numbers.
    [tldr.LEVELS, pytest.param(arxiv.LEVELS, marks=pytest.mark.slow)],
    ids=["tldr", "arxiv"],
)
def test_odd_replies_get_a_score_in_no_time(levels: Levels, text: str) -> None:
    agents = [f"{role}_0" for role in levels.roles]
    started = time.process_time()
    for texts in ((text, text), (text, LONG), (SHORT, text), (text, text + text[: len(text) // 2])):
        score = grading.score(levels, dict(zip(agents, texts, strict=True)))
        assert 0.0 <= score.value <= 2.98
        assert len(grading.findings(levels, score.detail, agents)) == 2
    # Four pairs of texts.
    assert time.process_time() - started < 4.0


OWN = [
    f"{start}{end}"
    for start in ("zab", "kir", "mol", "tep")
    for end in ("ora", "uni", "eki", "ilo")
]
MORE = [
    f"{start}{end}"
    for start in ("vud", "gax", "fep", "nij")
    for end in ("ora", "uni", "eki", "ilo")
]
JOINTS = "also but although because so first when for example if so that indeed overall".split()
NONSENSE = {"concise_0": " ".join(OWN), "detailed_0": " ".join((*OWN, *JOINTS, *MORE))}
"""Return a pair of texts that can be written without reading a post."""


def test_nonsense_earns_everything_on_every_post_and_only_the_overlap_with_it_tells() -> None:
    for task in tldr.BENCHMARK.generate(0, 50):
        score = tldr.BENCHMARK.score(task, NONSENSE)
        # 0.5 + 1 + 0.5 + 0.4 * 0.95 + 0.6: all there is.
        assert score.value == pytest.approx(2.98) and score.solved
        # At most one of its 35 words that count, a connective, stands in a post.
        assert score.measures["source_overlap"] <= 1 / 35
        drafts = {f"{role}_0": texts[0] for role, texts in task.drafts.items()}
        assert tldr.BENCHMARK.score(task, drafts).measures["source_overlap"] > 0.9


def earned(texts, multiply_by):
    """Mean return of a pair of texts, or of every post's own drafts, over 50 generated posts."""
    settings = {"team": {"concise": 1, "detailed": 1}, "answer": "joint", "rounds": 1}
    env = envs.make("tldr", free=True, tasks=50, reward={"multiply_by": multiply_by}, **settings)
    returns = []
    for key, task in env.tasks.items():
        env.reset(seed=0, options={"task": key})
        own = {f"{role}_0": drafts[0] for role, drafts in task.drafts.items()}
        returns.append(env.step(texts or own)[1]["concise_0"])
    return sum(returns) / len(returns)


def test_multiplied_by_the_overlap_nonsense_earns_nothing_and_drafts_nearly_all():
    assert earned(NONSENSE, None) == pytest.approx(2.98)
    # 2.98 / 35 at most.
    assert earned(NONSENSE, "source_overlap") < 0.09
    assert earned(None, None) > 2.7
    assert earned(None, "source_overlap") > 0.9 * earned(None, None)


@pytest.mark.parametrize("key", ["multiply_by", "measure"])
def test_a_measure_that_the_benchmark_does_not_take_is_refused(key):
    with pytest.raises(UnknownNameError, match=f"env.reward.{key}"):
        envs.make("gsm8k", free=True, tasks=1, reward={key: "source_overlap"})


def test_the_overlap_with_the_source_is_the_share_of_words_it_has() -> None:
    # The words that count: stone, sinks, dog; two of the three stand in the source.
    assert source_overlap("A stone sinks.", "The stone sinks", "and the dog sinks") == 2 / 3
    assert source_overlap("A stone.", "", "the") == 0.0
    assert source_overlap("", "stone") == 0.0
