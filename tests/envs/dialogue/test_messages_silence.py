"""Messages of replies with the silence word."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.messages import SilenceWord

WORD = SilenceWord("<silence>")


@pytest.mark.parametrize(
    "text",
    [
        "<silence>",
        " \n<silence>",
        "`<silence>`",
        "```\n<silence>\n```",
        "**<silence>**",
        '"<silence>"',
        "“<silence>”",
        "> <silence>",
        "helper_1: <silence>",
        "Helper_1: <silence>",
        "**helper_1:** <silence>",
        "Helper 1: <silence>",
        "[helper]: <silence>",
        "Reply: <silence>",
        "<silence/>",
        "<silence />",
        "</silence>",
        "< silence >",
        "<Silence>",
        "<SILENCE>",
        "[silence]",
        "(silence)",
        "Silence.",
        "helper_1: silence",
        "<silence> and more",
        # Lists, formulas, HTML and full width.
        *("1. <silence>", "1) <silence>", "(1) **<silence>**", "- <silence>", "* <silence>"),
        *("$<silence>$", "$$<silence>$$", r"\(<silence>\)", r"\boxed{<silence>}", "$silence$"),
        *("<b><silence></b>", "<p>silence</p>", "<answer><silence></answer>", "<i>[silence]</i>"),
        *("&lt;silence&gt;", "&#60;Silence/&#62;", r"\<silence\>", "\uff1csilence\uff1e"),
        *("\u200b<silence>", "\u2060\ufeff<silence>", "1. silence", "<b>helper_1:</b> <silence>"),
    ],
)
def test_silence_in_any_dress_is_silence(text):
    assert WORD.split(text, "helper_1").message == ""


@pytest.mark.parametrize(
    ("text", "message", "rest"),
    [
        (" Anna has 3. ", "Anna has 3.", ""),
        ("I say <silence>", "I say", ""),
        ("Anna has 3.\n<silence>\nNow I think: 3 + 4", "Anna has 3.", "Now I think: 3 + 4"),
        ("Anna has 3 </Silence> 4", "Anna has 3", "4"),
        ("<silence> a <silence> b", "", "a <silence> b"),
        # Dressing behind the word says nothing either.
        ("**<silence>**", "", ""),
        # Only the name of who speaks is dressing.
        ("solver_0: <silence>", "solver_0:", ""),
        ("42 <silence>", "42", ""),
        # Only a list of one item begins with its number.
        ("42. <silence>", "42.", ""),
        ("2. <silence>", "2.", ""),
        ("$5 <silence>", "$5", ""),
        ("<b>no</b> <silence>", "<b>no</b>", ""),
        ("<b><silence></b>", "", ""),
        ("<silence> <hm>", "", "<hm>"),
        ("#### 7 <silence>", "#### 7", ""),
        ("silence is golden", "silence is golden", ""),
        ("I keep silence", "I keep silence", ""),
        ("", "", ""),
    ],
)
def test_what_stands_before_the_word_is_the_message(text, message, rest):
    assert WORD.split(text, "helper_1") == (message, rest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<sil", ""),
        ("**<silenc", ""),
        ("helper_1: <sile", ""),
        ("</sil", ""),
        ("", ""),
        ("Anna has 3 <sil", "Anna has 3 <sil"),
        ("**", "**"),
    ],
)
def test_a_reply_that_its_limit_stops_within_the_word_is_silent(text, message):
    assert WORD.split(text, "helper_1", stopped=True).message == message
    # A reply that ended itself there says it.
    assert WORD.split(text, "helper_1").message == text


def test_a_word_without_brackets_counts_as_it_is_written():
    word = SilenceWord("PASS")
    assert word.split("I know 3. PASS I think") == ("I know 3.", "I think")
    assert word.split("I pass the ball to Bea") == ("I pass the ball to Bea", "")
    assert word.split("pass").message == ""
    assert word.spellings == ("PASS",)
    assert SilenceWord("-").split("3-2") == ("3", "2")


def test_servers_are_given_the_likeliest_spellings():
    # Servers take four stop strings at most.
    assert WORD.spellings == ("<silence>", "<silence/>", "</silence>", "<Silence>")
    assert SilenceWord("<QUIET>").spellings[:2] == ("<QUIET>", "<QUIET/>")
    assert all(WORD.ends(spelling) for spelling in WORD.spellings)


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        # As it is usually spelled, with one white space or a blank line before it.
        *(
            (text, "")
            for text in ("<silence>", " <silence>", "\n\n<silence>", "<SILENCE>", "</silence>")
        ),
        *(
            (text, "")
            for text in ("[silence]", "Silence.", "", "\n", "Hi", " Hi\n", "Hi <silence>")
        ),
        ('** ## " <silence>', '** ## " '),
        ("**<silence>", "**"),
        ("1. <silence>", "1. "),
        ("helper_1: <silence>", "helper_1: "),
        ("<b><i><silence>", "<b><i>"),
        ("\u200b\u200b<silence>", "\u200b\u200b"),
        ("\t\t\t\t<silence>", "\t\t\t"),
        # Spaces and case within the word could spell a note.
        ("<   silence >", "<   silence >"),
        ("<sIlEnCe>", "<sIlEnCe>"),
        ("[[silence]]]]]", "[[]]]]]"),
        ("\n\n\n", "\n"),
        (" " * 9, " " * 8),
        # Around a message, too.
        ("Hi\t\t\t", "\t\t"),
        ("   Hi", "  "),
        ("Hi \n \n<silence>", "\n \n"),
        ("  Hi <silence> x", " x"),
    ],
)
def test_what_no_agent_hears_is_dropped_but_one_space_is_not(text, dropped):
    assert WORD.dropped(text, WORD.split(text, "helper_1").message) == dropped
