"""Thoughts: the part of an action that comes before the message and that no agent reads.

    <think>17 and 25 are 42.</think>#### 42

A thought stands at the very beginning of an action between two markers. These are the markers of
the environment, whatever markers an agent's model uses. The thought ends at the first closing
marker. An agent that does not close it says nothing. A pair of markers anywhere else is speech.
"""

from __future__ import annotations

BEGIN, END = "<think>", "</think>"
_DEFUSED = "</ think>"
"""Spelling, within a thought, of the marker that would end it."""


def split(action: str) -> tuple[str, str]:
    """Split an action into its thought and its message; either may be empty.

    White space between the two belongs to neither.
    """
    if not action.startswith(BEGIN):
        return "", action
    thought, _, message = action.removeprefix(BEGIN).partition(END)
    return thought, message.lstrip()


def find(text: str) -> tuple[str, str, bool]:
    """Return the thought and the message of a model's reply, and whether the thought has an end.

    Some models write no first marker, because their prompt ends in it.
    """
    text = text.strip()
    action = text if text.startswith(BEGIN) or END not in text else BEGIN + text
    return *split(action), END in text or not text.startswith(BEGIN)


def join(thought: str, message: str) -> str:
    """Return the action that `split` takes apart again, whatever characters the two hold.

    A message that begins with the marker of a thought stays a message. A thought that spells its
    own end does not end there.
    """
    if not thought and not message.startswith(BEGIN):
        return message
    return f"{BEGIN}{thought.replace(END, _DEFUSED)}{END}{message}"
