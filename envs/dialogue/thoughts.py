"""What an agent thinks before it speaks: part of its action, and of nothing that anybody reads.

    <think>17 and 25 are 42.</think>#### 42

A thought stands at the very beginning of an action between two markers, those of the environment
whatever an agent's model uses. It ends at the first closing marker; who does not close it says
nothing. A pair of markers anywhere else is speech like any other.
"""

from __future__ import annotations

BEGIN, END = "<think>", "</think>"
_DEFUSED = "</ think>"
"""How a thought spells the marker that would end it."""


def split(action: str) -> tuple[str, str]:
    """The thought and the message of an action; either may be empty.

    White space between the two is nobody's.
    """
    if not action.startswith(BEGIN):
        return "", action
    thought, _, message = action.removeprefix(BEGIN).partition(END)
    return thought, message.lstrip()


def find(text: str) -> tuple[str, str, bool]:
    """The thought and the message of what a model wrote, and whether the thought has an end.

    Some write no first marker, because what asked them for a reply ended in it.
    """
    text = text.strip()
    begun = text if text.startswith(BEGIN) or END not in text else BEGIN + text
    return *split(begun), END in text or not text.startswith(BEGIN)


def join(thought: str, message: str) -> str:
    """The action that `split` takes apart again, whatever the two spell.

    A message that begins with the marker of a thought stays a message, and a thought that spells
    its end goes on.
    """
    if not thought and not message.startswith(BEGIN):
        return message
    return f"{BEGIN}{thought.replace(END, _DEFUSED)}{END}{message}"
