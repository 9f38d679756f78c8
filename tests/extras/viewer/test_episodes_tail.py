"""A file that another process is writing, read row by row."""

from __future__ import annotations

import os

import pytest

from laconic.extras.viewer.episodes import Tail


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_a_file_that_is_not_there_yet_has_no_rows(path):
    tail = Tail(path)
    assert tail.read() == ([], False)
    path.write_text('{"step": 0}\n')
    assert tail.read() == ([{"step": 0}], True)


def test_each_row_comes_once(path):
    path.write_text('{"step": 0}\n{"step": 1}\n')
    tail = Tail(path)
    assert tail.read() == ([{"step": 0}, {"step": 1}], True)
    assert tail.read() == ([], False)
    with open(path, "a") as file:
        file.write('{"step": 2}\n')
    assert tail.read() == ([{"step": 2}], False)


def test_a_line_is_read_when_its_end_has_come_also_within_a_letter(path):
    whole = '{"said": "na\u00efve"}\n'.encode()
    border = whole.index("\u00ef".encode()) + 1
    path.write_bytes(b'{"step": 0}\n' + whole[:border])
    tail = Tail(path)
    assert tail.read()[0] == [{"step": 0}]
    assert tail.read() == ([], False)
    with open(path, "ab") as file:
        file.write(whole[border:])
    assert tail.read() == ([{"said": "na\u00efve"}], False)


def test_lines_that_are_no_rows_are_left_out(path):
    path.write_text('{"step": 0}\n\n[1]\n{"step"\n{"step": 1}\n')
    assert Tail(path).read()[0] == [{"step": 0}, {"step": 1}]


def test_a_file_that_was_replaced_or_cut_is_read_again(path):
    path.write_text('{"step": 0}\n{"step": 1}\n')
    tail = Tail(path)
    tail.read()
    aside = path.with_name("aside")
    # As long as before: only its place on the disk tells.
    aside.write_text('{"step": 0}\n{"step": 9}\n')
    os.replace(aside, path)
    assert tail.read() == ([{"step": 0}, {"step": 9}], True)
    path.write_text('{"step": 7}\n')
    assert tail.read() == ([{"step": 7}], True)
