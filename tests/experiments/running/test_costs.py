"""Tokens by the second, and memory that only grows."""

from __future__ import annotations

from laconic.experiments.running.costs import peak_gigabytes, tokens_per_second
from laconic.learners.episode import Episode, Group, Turn


def group(replies: int) -> Group:
    spoken = Turn("a_0", 0, "hm", (1, 2, 3), (4, 5), (-0.1, -0.2))
    return Group("t", (Episode("t", (spoken,) * replies, {}), Episode("t", (), {})))


def test_replies_are_sampled_and_whole_conversations_trained():
    # Four replies of two tokens after three that were read, in 2 and in 4 seconds.
    assert tokens_per_second([group(3), group(1)], 2.0, 4.0) == {
        "time/sampled_tokens_per_second": 8 / 2.0,
        "time/trained_tokens_per_second": 20 / 4.0,
    }


def test_who_speaks_without_tokens_has_no_speed():
    assert tokens_per_second([group(0)], 1.0, 1.0) == {}


def test_the_peak_of_memory_is_told_in_gigabytes_and_never_falls():
    # A process with torch in it holds more than a hundredth of one, and less than any machine has.
    before = peak_gigabytes()
    assert 0.01 < before < 500
    held = b"x" * 30_000_000
    assert peak_gigabytes() >= before and len(held) == 30_000_000
