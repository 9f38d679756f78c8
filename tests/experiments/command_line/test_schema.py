"""Settings are read from the source of their class: names, types, marks and defaults."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pkgutil import resolve_name
from typing import Annotated, Literal

import pytest
from conf_keys import FILES

from laconic.envs.checks import TYPED, Bound
from laconic.experiments.command_line.schema import Setting, known_settings, settings_of
from laconic.experiments.command_line.trust import to_type

TARGETS = sorted(
    {name for path in FILES for name in re.findall(r"_target_: (\S+)", path.read_text("utf-8"))}
)
MINE = '''
from dataclasses import dataclass
from typing import Annotated, Literal
from laconic.envs.checks import TRUSTED, TYPED, Bound, Trust
open({mark!r}, "w")
Shape = Literal["round", "flat"]

@dataclass
class Mine:
    """A part of my own."""

    depth: Annotated[int, Bound(ge=1)] = 3
    """Layers."""
    shape: Shape = "round"
    title: Annotated[str, TRUSTED] = ""
    data: Annotated[str, Trust(("made",))] = "made"
    path: str = ""
    begin: Annotated[bool, TYPED] = False
'''


@pytest.mark.parametrize("target", TARGETS)
def test_the_source_names_what_a_call_takes(target):
    settings = settings_of(target)
    parameters = inspect.signature(resolve_name(target)).parameters.values()
    if settings is None:
        assert any(each.kind == each.VAR_KEYWORD for each in parameters)
    named = [each for each in parameters if each.kind in (1, 3)]
    known = known_settings(target)
    assert {each.name for each in named} <= {*known}
    for each in named:
        # `len(FRAMES)` is computed.
        if (
            isinstance(each.default, bool | int | float | str | tuple | None)
            and each.name != "frames"
        ):
            assert known[each.name].default == each.default


def test_reading_imports_nothing():
    code = (
        "import sys; from laconic.experiments.command_line.schema import known_settings as known;"
        f"print(sum(len(known(each)) for each in {TARGETS!r}), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, loaded = done.stdout.split()
    assert int(count) > 300 and loaded == "False"


def test_type_marks_and_default_stand_at_the_field(tmp_path, monkeypatch):
    mark = tmp_path / "imported"
    (tmp_path / "my_own_fields.py").write_text(MINE.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path)
    settings = settings_of("my_own_fields.Mine")
    assert not mark.exists()
    assert settings["depth"] == Setting(Annotated[int, Bound(ge=1)], 3)
    assert settings["shape"] == Setting(Literal["round", "flat"], "round")
    assert settings["begin"] == Setting(Annotated[bool, TYPED], False)


def test_a_default_says_the_type_where_no_annotation_does(tmp_path, monkeypatch):
    (tmp_path / "bare.py").write_text("def loss(inputs, cap=3.0, floor=None, name='x'):\n    ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = known_settings("bare.loss")
    assert settings["cap"].is_safe(2) and not settings["cap"].is_safe("2")
    assert not any(settings[name].is_safe(2) for name in ("inputs", "floor", "name"))


def test_a_name_without_a_source_takes_any_setting():
    assert settings_of("no_such_package.Thing") is None
    assert settings_of("os.mkdir") is None
    assert settings_of("laconic.envs.make") is None


def test_a_class_whose_constructor_is_made_elsewhere_takes_any_setting(tmp_path, monkeypatch):
    text = "from theirs import Base, define\n@define\nclass A:\n    x: int\nclass B(Base): pass\n"
    text += "class C:\n    def __init__(self, x: int = 1, **more): pass\nclass D(C): pass\n"
    (tmp_path / "my_made.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert [settings_of(f"my_made.{name}") for name in "ABCD"] == [None] * 4
    assert [*known_settings("my_made.D")] == ["x"]


@pytest.mark.parametrize(
    ("kind", "safe", "unsafe"),
    [
        (bool, [True], [7, "yes", [True]]),
        (int, [7], [True, 0.5, "7", [7]]),
        (float, [7, 0.5], ["0.5"]),
        (str, [], ["word", 7]),
        (list[int], [[1, 2]], [["a"], [[1]], [""]]),
        (dict, [], [{"a": 1}, {"_target_": "os.system"}]),
    ],
)
def test_numbers_are_safe_and_words_are_not(kind, safe, unsafe):
    setting = Setting(kind)
    assert all(setting.is_safe(value) for value in (*safe, None, False, "", [], {}))
    assert not any(setting.is_safe(value) for value in unsafe)


def test_a_package_declares_what_a_run_folder_may_set(register, tmp_path):
    """The fields of an installed package are read as those of this one; its options are typed."""
    mark = tmp_path / "imported"
    option = "defaults: [gspo, _self_]\npart:\n  _target_: my_fields.Mine\n"
    files = {
        "my_fields.py": MINE.format(mark=str(mark)),
        "my_conf/__init__.py": "",
        "my_conf/learner/mine.yaml": option,
    }
    register("laconic.configs", "mine", "my_conf", files)
    safe = ["learner.part.depth=4", "+learner.part.shape=flat", "+learner.part.title='my run'"]
    safe += ["+learner.part.data=made", "+learner.part.path=null"]
    unsafe = ["+learner.part.path=/x", "+learner.part.data=/x", "+learner.part.begin=true"]
    unsafe += ["+learner.part.shape=os.system", "+learner.part.other=1", "+learner.part._args_=[1]"]
    recorded = ["learner=mine", *safe, *unsafe]
    assert to_type(recorded, "train", ["learner=mine"]) == ["learner=mine", *unsafe]
    # Without the option nothing is known of its part.
    assert to_type(safe, "train") == safe
    assert not mark.exists()
