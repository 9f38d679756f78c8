"""The notebooks run from top to bottom, as they are."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest
from places import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    notebook = json.loads(path.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    # Classes of a notebook are found by the name of its module, as those of `__main__` are.
    module = ModuleType("a_notebook")
    monkeypatch.setitem(sys.modules, "a_notebook", module)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        assert cell["outputs"] == [], "outputs are left out, so that none is out of date"
        code = compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec")
        exec(code, module.__dict__)
    assert module.run.state == "finished"
