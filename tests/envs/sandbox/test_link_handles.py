"""Operations on a handle are forwarded, but a handle never equals a plain value."""

from __future__ import annotations

import pytest

from laconic.envs.sandbox.link import Handle


class Link:
    """Records requests and answers from a list."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.asked = list(answers), []

    def call(self, target, arguments, options):
        self.asked.append(("call", arguments, options))
        return self.answers.pop(0)

    def apply(self, operation, *operands):
        self.asked.append((operation, *operands[1:]))
        return self.answers.pop(0)


def test_attributes_items_and_calls_are_passed_on():
    link = Link(1, None, None, 2, 3, None)
    thing = Handle(link, 5, "Thing")
    assert thing.size == 1
    thing.size = 4
    del thing.size
    assert thing[0] == 2 and thing(6, key=7) == 3
    thing["a"] = 8
    assert link.asked == [
        ("getattr", "size"),
        ("setattr", "size", 4),
        ("delattr", "size"),
        ("getitem", 0),
        ("call", (6,), {"key": 7}),
        ("setitem", "a", 8),
    ]


def test_handles_are_compared_by_the_program_and_plain_values_by_the_tests():
    link = Link(True, False)
    first, second = Handle(link, 1, "Thing"), Handle(link, 2, "Thing")
    assert first == second and not first < second
    assert [name for name, *_ in link.asked] == ["eq", "lt"]
    # Nobody asks the program whether it equals 5.
    assert (first == 5) is False and first != 5
    with pytest.raises(TypeError):
        first + 5
    with pytest.raises(TypeError):
        assert first < 5
    assert len(link.asked) == 2


@pytest.mark.parametrize("ask", [len, bool, hash, str, repr])
def test_what_python_asks_of_an_object_must_be_of_the_right_type(ask):
    with pytest.raises(TypeError, match="expected"):
        ask(Handle(Link([]), 1, "Thing"))


def test_length_truth_and_items_are_the_programs_word():
    thing = Handle(Link(3, False, [1, 2], [4]), 1, "Thing")
    assert len(thing) == 3 and not thing
    # Membership iterates and compares on this side.
    assert [item for item in iter(thing)] == [1, 2] and 4 in thing
