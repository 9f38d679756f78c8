"""Rounds printed for people."""

from __future__ import annotations

from laconic.envs.dialogue.console import print_round
from laconic.envs.dialogue.transcript import Message
from laconic.envs.task import Score


def test_a_round_shows_who_said_what_silence_and_cuts(capsys):
    print_round([Message("a_0", 2, "hello", 1, cut=True), Message("b_0", 2, "", 0)])
    shown = capsys.readouterr().out
    assert "round 2" in shown
    assert "hello [cut]" in shown
    assert "(silent)" in shown
    assert "score" not in shown


def test_the_score_is_shown_after_the_last_round_and_markup_in_an_answer_is_plain_text(capsys):
    print_round([Message("a_0", 0, "[/b]", 3)], Score(0.5, False, "[/b]\x1b[2J"))
    assert "answer [/b]\ufffd[2J: not solved, score 0.5" in capsys.readouterr().out


def test_no_messages_and_no_answer_are_shown_too(capsys):
    print_round([], Score(0.0, False, ""))
    assert "answer none: not solved, score 0" in capsys.readouterr().out
