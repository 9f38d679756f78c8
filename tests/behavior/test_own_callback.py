"""A user's callback in a training: that of docs/packages.md, a listener, and one that fails."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

import laconic
from laconic.experiments import Callback, TrainingRun
from laconic.experiments.session import run_state

TARGET = "callbacks.patience._target_=my_package.patience.Patience"
# The number of rounds does not rise, so the third evaluation is the second that is waited for.
PATIENCE = [TARGET, "callbacks.patience.metric=eval/rounds", "callbacks.patience.evaluations=2"]


@pytest.fixture(scope="module")
def every(small):
    return [*small, "train.evaluate_every=1", "logger=none"]


@pytest.fixture(scope="module")
def stopped(run, every, my_package, tmp_path_factory):
    """Return the folder of a training that the callback stops after two of four updates."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    outcome = run("train", *every, *PATIENCE, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    sentence = "callbacks.patience ended the run after 2 updates: eval/rounds has not risen"
    assert sentence in outcome.out
    return folder


def ended_by(folder):
    return json.loads((folder / "status.json").read_text()).get("ended_by")


def test_it_adds_a_metric_stops_the_run_and_is_recorded(stopped, rows):
    metrics = rows(stopped / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2]
    assert {row["mine/best"] for row in metrics} == {metrics[0]["eval/rounds"]}
    assert ended_by(stopped) == "callbacks.patience"
    node = OmegaConf.load(stopped / "config.yaml").callbacks.patience
    assert node == {
        "_target_": "my_package.patience.Patience",
        "metric": "eval/rounds",
        "evaluations": 2,
    }
    assert "my_package" not in (stopped / "policy" / "README.md").read_text()


def test_its_state_is_resumed_and_the_run_ends_where_it_would_have(
    run, every, my_package, stopped, timeless, tmp_path
):
    parts = [*every, *PATIENCE, f"hydra.run.dir={tmp_path}"]
    assert run("train", *parts, "train.steps=1").code == 0
    assert ended_by(tmp_path) is None
    again = run("train", *parts, "resume=true")
    assert again.code == 0, again.err
    assert timeless(tmp_path / "metrics.jsonl") == timeless(stopped / "metrics.jsonl")
    assert ended_by(tmp_path) == "callbacks.patience"
    # A run that it has stopped stays so, until the command leaves it out.
    assert run("train", *parts, "resume=true").code == 0
    assert timeless(tmp_path / "metrics.jsonl") == timeless(stopped / "metrics.jsonl")
    longer = run("train", *every, f"hydra.run.dir={tmp_path}", "resume=true")
    assert longer.code == 0, longer.err
    assert [row["step"] for row in timeless(tmp_path / "metrics.jsonl")] == [0, 1, 2, 3, 4]
    assert ended_by(tmp_path) is None


def test_a_folder_names_one_and_does_not_get_it_called(run, my_package, stopped):
    before = (stopped / "metrics.jsonl").read_bytes()
    refused = run("train", f"resume={stopped}", "train.steps=5")
    assert refused.code == 1 and TARGET in refused.err.partition("add to the command:")[2]
    # Its settings are those of a class that the user has not named.
    assert "callbacks.patience.evaluations=2" in refused.err
    named = run("train", f"resume={stopped}", "train.steps=5", TARGET)
    assert named.code == 1 and "callbacks.patience.metric=eval/rounds" in named.err
    again = run("train", f"resume={stopped}", "train.steps=5", *PATIENCE)
    assert again.code == 0, again.err
    assert (stopped / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([TARGET.replace("Patience", "Patiense")], "my_package.patience.Patience'?"),
        (["callbacks.patience._target_=no_package.Mine"], "no_package"),
        (["callbacks.patience._target_=collections.OrderedDict"], "laconic.experiments.Callback"),
        (["callbacks.patience._target_=my_package.Ranks"], "laconic.experiments.Callback"),
        ([TARGET, "callbacks.patience.evaluation=2"], "'callbacks.patience.evaluations'"),
        ([TARGET, "+callbacks.patience.evaluation=2"], "'evaluations'"),
        (["+callbacks.patience.evaluations=2"], "callbacks.patience._target_="),
        (["callbacks=7"], "nodes by name"),
        ([f"callbacks.needs._target_={__name__}.Needs"], "missing a required argument: 'what'"),
    ],
)
def test_a_wrong_one_is_refused_before_anything_is_written(
    run, small, my_package, tmp_path, settings, words
):
    outcome = run("train", *small, *settings, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code != 0 and words in outcome.err, outcome.err
    assert not (tmp_path / "run").exists()


class Needs(Callback):
    """Has a setting without a default."""

    def __init__(self, what):
        self.what = what


class Listener(Callback):
    """Notes what it is told of."""

    told: list = []

    def on_start(self, run):
        assert isinstance(run, TrainingRun)
        self.told = type(self).told = ["start"]

    def on_step(self, run, row):
        assert run.groups and "learner/loss" in row and "time/step" not in row
        row["mine/episodes"] = float(sum(len(group.episodes) for group in run.groups))
        self.told.append(("step", run.step))

    def on_evaluation(self, run, row):
        assert "eval/score" in row
        self.told.append(("evaluation", run.step))

    def on_log(self, run, row):
        # The row of the step is written, and the step's warnings are known.
        last = json.loads(run.folder.metrics.read_text().splitlines()[-1])
        assert last == {"step": run.step, **row}
        self.told.append(("log", run.step))
        if run.step == 1:
            run.warn("it is late")

    def on_end(self, run):
        status = json.loads((run.folder.path / "status.json").read_text())
        assert status["state"] == run.state == "finished" and run.error is None
        assert (run.folder.path / "policy" / "README.md").exists()
        self.told.append("end")


def test_it_is_told_of_each_part_in_order_and_changes_nothing_by_listening(
    run, small, trained, timeless, tmp_path
):
    made = laconic.train(*small, folder=tmp_path / "run", callbacks={"mine": Listener})
    steps = [
        *(("step", 1), ("log", 1), ("step", 2), ("evaluation", 2), ("log", 2)),
        *(("step", 3), ("log", 3), ("step", 4), ("evaluation", 4), ("log", 4)),
    ]
    assert Listener.told == ["start", ("evaluation", 0), ("log", 0), *steps, "end"]
    written = timeless(made.folder / "metrics.jsonl")
    assert [row.pop("mine/episodes", None) for row in written] == [None, 4.0, 4.0, 4.0, 4.0]
    assert written == timeless(trained[0] / "metrics.jsonl")
    assert json.loads((made.folder / "status.json").read_text())["warnings"] == ["it is late"]


class Broken(Callback):
    """Fails in a method at a step, unless it is told not to."""

    ends: list = []

    def __init__(self, method="on_log", at=3):
        self.method, self.at = method, at
        setattr(self, method, self.fail)

    def fail(self, run, *row):
        if run.step == self.at:
            raise RuntimeError("out of paper")


class Last(Callback):
    """Notes how a run ended."""

    def on_end(self, run):
        Broken.ends.append((run.state, repr(run.error)))
        run.warn("the end was late")


@pytest.mark.parametrize("method", ["on_step", "on_log"])
def test_one_that_fails_ends_the_run_and_nothing_that_was_written_is_lost(
    run, small, trained, timeless, tmp_path, monkeypatch, method
):
    monkeypatch.setattr(Broken, "ends", [])
    folder = tmp_path / "run"
    command = [*small, f"hydra.run.dir={folder}", f"callbacks.last._target_={__name__}.Last"]
    broken = [f"callbacks.b._target_={__name__}.Broken", f"callbacks.b.method={method}"]
    with pytest.raises(RuntimeError, match="out of paper") as raised:
        run("train", *command, *broken)
    (note,) = raised.value.__notes__
    assert note.startswith(f"callbacks.b.{method} raised this at step 3") and str(folder) in note
    assert Broken.ends == [("failed", "RuntimeError('out of paper')")]
    status, last = json.loads((folder / "status.json").read_text()), 3 if method == "on_log" else 2
    assert (status["state"], status["step"]) == ("failed", last)
    assert status["warnings"][-1] == "the end was late"
    steps = [row["step"] for row in timeless(folder / "metrics.jsonl")]
    assert steps == [*range(last + 1)]
    assert (folder / "checkpoints" / "step_00000002").is_dir()
    # Mended, the run ends as one that never failed.
    again = run("train", *command, *broken, "callbacks.b.at=99", "resume=true")
    assert again.code == 0, again.err
    assert timeless(folder / "metrics.jsonl") == timeless(trained[0] / "metrics.jsonl")
    weights = [place / "policy" / "model.safetensors" for place in (folder, trained[0])]
    assert weights[0].read_bytes() == weights[1].read_bytes()


class Forgets(Callback):
    """Lacks the return of its state."""

    def state_dict(self):
        self.seen = 3


def test_one_that_fails_around_a_checkpoint_is_named(run, small, tmp_path):
    command = [*small, "train.steps=1", f"hydra.run.dir={tmp_path}/run"]
    with pytest.raises(TypeError) as raised:
        run("train", *command, f"callbacks.f._target_={__name__}.Forgets")
    assert raised.value.__notes__[0].startswith("callbacks.f.state_dict raised this at step 1")
    assert run("train", *command, "resume=true").code == 0
    broken = [f"callbacks.b._target_={__name__}.Broken", "callbacks.b.method=on_resume"]
    with pytest.raises(RuntimeError, match="out of paper") as raised:
        run("train", *command, *broken, "callbacks.b.at=1", "resume=true")
    assert raised.value.__notes__[0].startswith("callbacks.b.on_resume raised this at step 1")
    folder = tmp_path / "run"
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["step"]) == ("failed", 1)
    assert "out of paper" in (folder / "error.txt").read_text()
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2


class Built(Callback):
    """Fails in its constructor, unless it is told not to."""

    def __init__(self, works=False):
        if not works:
            raise RuntimeError("no paper at all")


@pytest.mark.parametrize("late", [False, True], ids=["new", "resumed"])
def test_one_that_cannot_be_built_ends_the_run_as_failed(run, small, tmp_path, late):
    folder = tmp_path / "run"
    command = [*small, "train.steps=1", f"hydra.run.dir={folder}"]
    if late:
        assert run("train", *command).code == 0
        command.append("resume=true")
    built = f"callbacks.b._target_={__name__}.Built"
    with pytest.raises(RuntimeError, match="no paper at all") as raised:
        run("train", *command, built)
    assert raised.value.__notes__[0].startswith("callbacks.b.__init__ raised this at step")
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["step"]) == ("failed", int(late))
    assert "no paper at all" in (folder / "error.txt").read_text()
    again = run("train", *command, built, "callbacks.b.works=true", "resume=true")
    assert again.code == 0, again.err


class Junk(Callback):
    """Puts a value of the command line into the row."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def on_evaluation(self, run, row):
        row[self.name] = self.value


@pytest.mark.parametrize(
    ("name", "value"), [("step", 9), ("mine/x", "text"), ("mine/x", "[1]"), ("7", 1.0)]
)
def test_a_row_takes_numbers_by_name_and_keeps_its_step(run, small, tmp_path, name, value):
    junk = [f"callbacks.j._target_={__name__}.Junk", f"callbacks.j.name={name}"]
    outcome = run("train", *small, *junk, f"callbacks.j.value={value}", f"hydra.run.dir={tmp_path}")
    assert outcome.code == 1 and "callbacks.j.on_evaluation" in outcome.err, outcome.err
    assert not (tmp_path / "metrics.jsonl").exists()


class Part:
    """Counts how often it is built."""

    made = 0

    def __init__(self):
        type(self).made += 1


class Stops(Callback):
    """Ends a run in a method."""

    def __init__(self, method, part=None):
        setattr(self, method, lambda run, *arguments: run.stop("enough"))


def test_a_stop_counts_and_is_told_wherever_it_is_called(run, every, tmp_path, monkeypatch):
    monkeypatch.setattr(Part, "made", 0)
    stops, folder = f"callbacks.s._target_={__name__}.Stops", tmp_path / "run"
    part = f"+callbacks.s.part._target_={__name__}.Part"
    command = [*every, f"hydra.run.dir={folder}"]
    ended = run("train", *command, stops, "callbacks.s.method=on_log", part)
    assert ended.code == 0 and Part.made == 1
    assert ended.out.count("callbacks.s ended the run after 0 updates: enough") == 1
    assert ended_by(folder) == "callbacks.s"
    assert run("train", *command, "train.steps=1", "resume=true").code == 0
    resumed = run("train", *command, stops, "callbacks.s.method=on_resume", "resume=true")
    assert resumed.out.count("callbacks.s ended the run after 1 updates: enough") == 1
    assert ended_by(folder) == "callbacks.s"


def test_one_that_fails_at_the_end_keeps_no_other_from_ending(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(Broken, "ends", [])
    broken = f"callbacks.b._target_={__name__}.Broken"
    end = [broken, "callbacks.b.method=on_end", "callbacks.b.at=1"]
    command = [*small, "train.steps=1", *end, f"callbacks.last._target_={__name__}.Last"]
    with pytest.raises(RuntimeError, match="out of paper"):
        run("train", *command, f"hydra.run.dir={tmp_path}/run")
    assert Broken.ends == [("finished", "None")]
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert (status["state"], status["step"]) == ("finished", 1)
    assert status["warnings"] == ["the end was late"]


def test_one_that_cannot_start_is_not_ended(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(Broken, "ends", [])
    broken = [f"callbacks.b._target_={__name__}.Broken", "callbacks.b.method=on_start"]
    last = f"callbacks.last._target_={__name__}.Last"
    with pytest.raises(RuntimeError, match="out of paper"):
        run("train", *small, *broken, "callbacks.b.at=-1", last, f"hydra.run.dir={tmp_path}/run")
    # The one before it has started; the one after it has not.
    assert Broken.ends == []


def test_a_checkpoint_from_before_there_were_callbacks_continues(
    run, small, trained, timeless, tmp_path, monkeypatch
):
    def former(run):
        """Return the state as it was written then."""
        state = state_of(run)
        rules = state.pop("callbacks")["warnings"]
        del state["end"]
        return {**state, "rules": rules}

    state_of = run_state.state_of
    command = [*small, f"hydra.run.dir={tmp_path}/run"]
    with monkeypatch.context() as patch:
        patch.setattr(run_state, "state_of", former)
        assert run("train", *command, "train.steps=2").code == 0
    again = run("train", *command, "resume=true")
    assert again.code == 0, again.err
    assert timeless(tmp_path / "run" / "metrics.jsonl") == timeless(trained[0] / "metrics.jsonl")
