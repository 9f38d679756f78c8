"""Further columns of a comparison; `test_compare.py` plays one."""

from __future__ import annotations

from laconic.extras.compare.columns import begin, finish


class Column:
    """One with all that a column may have."""

    written: tuple = ()

    def __call__(self, played):
        return None

    def begin(self, environment):
        return {"environment": environment}

    def finish(self, folder, names):
        self.written = (folder, names)


def test_only_those_are_asked_at_the_beginning_and_the_end_that_have_something_to_say(tmp_path):
    column = Column()
    both = [lambda played: None, column]
    assert begin(both, "game") == {"environment": "game"}
    finish(both, tmp_path, ["team"])
    assert column.written == (tmp_path, ["team"])
