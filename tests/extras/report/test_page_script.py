"""Script of a page, run by node on a stand-in for a document of one table and three tasks."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from laconic.extras.report import page

SCRIPT = Path(page.__file__).with_name("templates") / "report.js"
DOCUMENT = """
const node = (text) => ({
  textContent: text, listeners: {}, attributes: {},
  addEventListener(name, call) { this.listeners[name] = call; },
  getAttribute(name) { return this.attributes[name] ?? null; },
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  replaceChildren(child) { this.button = child; },
});
const heads = ["setting", "accuracy"].map(node);
const body = {
  rows: ROWS.map((row) => ({ cells: row.map(node) })),
  append(...rows) { this.rows = rows; },
};
const tasks = MARKS.map((marks) => ({ dataset: { marks }, hidden: false }));
const boxes = ["solved", "silent"].map((value) => ({ value, checked: false }));
const output = {};
const group = {
  ...node(""), hidden: true,
  querySelectorAll: () => boxes,
  querySelector: () => output,
};
const table = { tHead: { rows: [{ cells: heads }] }, tBodies: [body] };
const found = { "table": [table], ".filters": [group], "section.task": tasks };
globalThis.document = {
  createElement: () => node(""),
  querySelectorAll: (asked) => found[asked],
};
const sorted = (column) => {
  heads[column].button.listeners.click();
  return body.rows.map((row) => row.cells[1].textContent);
};
const shown = (...checked) => {
  boxes.forEach((box) => { box.checked = checked.includes(box.value); });
  group.listeners.change();
  return [tasks.filter((task) => !task.hidden).length, output.textContent];
};
"""


@pytest.fixture
def play(tmp_path: Path):
    """Run the script and return the value of an expression after it."""
    if shutil.which("node") is None:
        pytest.skip("there is no node here to run the script of a page")

    def call(expression: str, rows: list[list[str]], marks: list[str]) -> object:
        constants = f"const ROWS = {json.dumps(rows)}, MARKS = {json.dumps(marks)};\n"
        result = f"console.log(JSON.stringify({expression}));\n"
        file = tmp_path / "page.js"
        file.write_text(constants + DOCUMENT + SCRIPT.read_text("utf-8") + result, "utf-8")
        completed = subprocess.run(["node", str(file)], capture_output=True, text=True, check=False)
        assert completed.returncode == 0, completed.stderr
        return json.loads(completed.stdout)

    return call


ROWS = [["b 10", "9.0 % [1, 2]"], ["b 2", "10.0 %"], ["a", "–"], ["c", "−0.5"], ["d", "+1.3"]]


def test_numbers_are_sorted_up_and_then_down_with_unknown_ones_last(play) -> None:
    rising = ["−0.5", "+1.3", "9.0 % [1, 2]", "10.0 %", "–"]
    assert play("[sorted(1), sorted(1)]", ROWS, []) == [rising, [*rising[-2::-1], "–"]]


def test_the_first_column_is_sorted_as_words_with_their_numbers(play) -> None:
    assert play("sorted(0)", ROWS, []) == ["–", "10.0 %", "9.0 % [1, 2]", "−0.5", "+1.3"]


def test_only_the_sorted_head_says_so(play) -> None:
    attributes = play("(sorted(1), sorted(0), heads.map((head) => head.attributes))", ROWS, [])
    assert attributes == [{"aria-sort": "ascending"}, {}]


def test_tasks_are_shown_that_have_every_mark_asked_for(play) -> None:
    marks = ["solved silent", "unsolved", "silent"]
    assert play("[group.hidden, output.textContent]", [], marks) == [False, "3 of 3 shown"]
    assert play('[shown("silent"), shown("silent", "solved"), shown()]', [], marks) == [
        [2, "2 of 3 shown"],
        [1, "1 of 3 shown"],
        [3, "3 of 3 shown"],
    ]
    # `solved` is no part of `unsolved`.
    assert play('shown("solved")', [], marks) == [1, "1 of 3 shown"]
