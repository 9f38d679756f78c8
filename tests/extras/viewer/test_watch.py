"""The command line of `laconic watch`; `test_app.py` tests the viewer."""

from __future__ import annotations

import pytest

from laconic.extras.viewer import watch


@pytest.fixture
def refused(capsys):
    """Return the error for a folder."""

    def call(folder):
        with pytest.raises(SystemExit) as end:
            watch.main([str(folder)])
        assert end.value.code == 1
        return capsys.readouterr().err

    return call


def test_without_textual_it_is_said_how_to_install_it(refused, monkeypatch, tmp_path):
    monkeypatch.setattr(watch, "find_spec", lambda name: None)
    assert refused(tmp_path) == f"error: {watch.NEEDED}\n"


def test_other_folders_are_refused_with_a_reason(refused, tmp_path):
    assert "expected a run folder" in refused(tmp_path / "nowhere")


def test_of_a_sweep_one_of_its_runs_is_named(refused, build_run, tmp_path):
    build_run(tmp_path / "sweep" / "0")
    message = refused(tmp_path / "sweep")
    assert "holds several, e.g. " in message and "sweep/0" in message


def test_without_a_terminal_the_report_is_named(refused, build_run, tmp_path):
    assert "laconic report" in refused(build_run(tmp_path / "run"))
