"""Read the settings of classes and functions from their source: type, marks and default.

The source is parsed and never run: importing torch takes seconds, and a run folder of a stranger
must not decide what is imported.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from inspect import isclass
from itertools import takewhile
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from laconic.envs.checks import TRUSTED, Bound, Trust, alternatives

_NO_DEFAULT = inspect.Parameter.empty
_PLAIN = (bool, int, float, str, tuple, list, dict, type(None))
_Definition = ast.ClassDef | ast.FunctionDef


class Named(type):
    """Type that stands for a class of some source, by its path."""

    path: str

    def __getitem__(cls, item: object) -> Any:
        return cls

    @classmethod
    def of(cls, path: str) -> Any:
        """Return the type of a path."""
        return cls(path.rpartition(".")[2], (), {"path": path})


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, as its field or parameter declares it."""

    kind: Any = Any
    """Annotation, in which classes are known by their path alone; `Any` if it cannot be read."""
    default: Any = _NO_DEFAULT
    """Default; `inspect.Parameter.empty` without one, and `Any` if it has to be computed."""
    sentence: str = field(default="", compare=False)
    """Text of the docstring below the field, or of its entry under `Args:`; may be empty."""
    owner: str = field(default="", compare=False)
    """Path of the class or function that takes it."""

    def inner(self, name: str | None = None) -> Setting | None:
        """Return the setting of a name in its value, or that of an item of a list.

        It has the marks of the whole. None: no type declares it.
        """
        kinds = alternatives(self.kind)
        found = [each for kind, marks in kinds for each in _inner(kind, _trust_of(marks), name)]
        if len(found) < 2:
            return found[0] if found else None
        declared = next((each for each in found if each.owner), Setting())
        return replace(declared, kind=functools.reduce(or_, (each.kind for each in found)))

    def is_safe(self, value: Any) -> bool:
        """Return whether a run folder of a stranger may set it to this plain value.

        Numbers, switches and listed words name no code, file or server. Other text has to be
        declared to be safe, and so has a mapping of any settings.
        """
        return value is None or value is False or value in ("", [], {}) or self._holds(value)

    def is_open(self) -> bool | None:
        """Return whether a run folder of a stranger may set it; None: to some values only."""
        marked = [*alternatives(self.kind)]
        kinds = [(kind, _trust_of(marks)) for kind, marks in marked if kind is not type(None)]
        found = {each for kind, trust in kinds for each in _openness(kind, trust)}
        return found.pop() if len(found) == 1 else None

    def _holds(self, value: Any) -> bool:
        if isinstance(value, list):
            # An empty text in a list counts: `trust=['']` would trust every class.
            setting = self.inner()
            return setting is not None and all(map(setting._holds, value))
        if isinstance(value, dict):
            return all(
                # A name with an underscore names a class.
                (isinstance(name, str) and name[:1] != "_" and "${" not in name)
                and (setting := self.inner(name)) is not None
                and setting.is_safe(item)
                for name, item in value.items()
            )
        kinds = alternatives(self.kind)
        return any(_admits(kind, _trust_of(marks), value) for kind, marks in kinds)


def _inner(kind: Any, trust: Trust | None, name: str | None) -> Iterator[Setting]:
    """Yield the setting of a name, or of an item, in a value of a type with this mark."""
    origin, arguments = get_origin(kind), get_args(kind)
    if trust is not None and trust.values is not None and name is not None:
        # The mark lists names.
        if name not in trust.values:
            return
        trust = TRUSTED
    if isinstance(kind, Named):
        if name is not None and name in (settings := known_settings(kind.path)):
            yield settings[name]
    elif kind is Any:
        if trust is TRUSTED:
            yield Setting(Annotated[Any, TRUSTED])
    elif isclass(origin) and issubclass(origin, Collection):
        is_mapping = issubclass(origin, Mapping)
        if is_mapping == (name is not None):
            for each in arguments[is_mapping:]:
                if each is not ...:
                    yield Setting(Annotated[each, trust] if trust else each)


def _admits(kind: Any, trust: Trust | None, value: object) -> bool:
    """Return whether a type with this mark takes a number or a text that is safe."""
    if isinstance(value, str) and "${" in value:
        return False
    if trust is not None and trust.values is not None:
        return isinstance(value, str) and value in trust.values
    if get_origin(kind) is Literal:
        return any(value == word and type(value) is type(word) for word in get_args(kind))
    if kind is Any:
        return trust is TRUSTED and isinstance(value, bool | int | float | str)
    safe = (bool, int, float, str) if trust is TRUSTED else (bool, int, float)
    return kind in safe and (type(value) is kind or (kind is float and type(value) is int))


def _openness(kind: Any, trust: Trust | None) -> Iterator[bool | None]:
    """Yield whether the parts of a type with this mark are open to a run folder of a stranger."""
    origin, arguments = get_origin(kind), get_args(kind)
    if trust is not None and trust.values is not None:
        yield None if trust.values else False
    elif trust is TRUSTED or origin is Literal or kind in (bool, int, float):
        yield True
    elif isclass(origin) and issubclass(origin, Collection):
        for each in arguments[issubclass(origin, Mapping) :]:
            if each is not ...:
                yield Setting(each).is_open()
    else:
        # A class judges each of its settings.
        yield None if isinstance(kind, Named) else False


def _trust_of(marks: tuple[Any, ...]) -> Trust | None:
    return next((mark for mark in marks if isinstance(mark, Trust)), None)


def settings_of(target: str) -> Mapping[str, Setting] | None:
    """Return the settings that a class or function takes by name, in order.

    None means that it takes any name, or that its names are unknown.
    """
    settings, complete = _settings(target)
    return settings if complete else None


def known_settings(target: str) -> Mapping[str, Setting]:
    """Return the settings that a class or function is known to take; it may take more."""
    return _settings(target)[0]


@functools.cache
def _settings(target: str) -> tuple[dict[str, Setting], bool]:
    """Return the settings of a target, and whether it takes no other."""
    found = _find(target)
    return ({}, False) if found is None else _declared(*found)


def _declared(module: _Module, node: _Definition) -> tuple[dict[str, Setting], bool]:
    settings, complete = _own_and_inherited(module, node)
    owner = f"{module.name}.{node.name}"
    return {name: replace(each, owner=owner) for name, each in settings.items()}, complete


def _own_and_inherited(module: _Module, node: _Definition) -> tuple[dict[str, Setting], bool]:
    if isinstance(node, ast.FunctionDef):
        options, complete = _options(module, node)
        return _parameters(module, node) | options, complete
    constructor = next(
        (
            each
            for each in node.body
            if isinstance(each, ast.FunctionDef)
            if each.name == "__init__"
        ),
        None,
    )
    # Those of the standard library, such as `ABC`, take nothing.
    bases = [module.find(base) for base in node.bases if not module.is_standard(base)]
    if constructor is not None:
        options, complete = _options(module, constructor)
        own = _parameters(module, constructor, ast.get_docstring(node)) | options
        if complete:
            return own, True
        further, complete = _of_bases(bases)
        return further | own, complete and bool(bases)
    inherited, complete = _of_bases(bases)
    if any("dataclass" in ast.dump(each) for each in node.decorator_list):
        return inherited | dict(_fields(module, node)), complete
    # A decorator of another package may make a constructor.
    return inherited, complete and all(map(module.is_standard, node.decorator_list))


def _of_bases(bases: list[tuple[_Module, _Definition] | None]) -> tuple[dict[str, Setting], bool]:
    merged: dict[str, Setting] = {}
    known = [({}, False) if base is None else _declared(*base) for base in bases]
    for settings, _ in reversed(known):
        merged |= settings
    return merged, all(complete for _, complete in known)


def _parameters(
    module: _Module, function: ast.FunctionDef, about: str | None = None
) -> dict[str, Setting]:
    """Return the parameters of a function, or of a constructor with the docstring of its class."""
    arguments = function.args
    texts = _entries(about) | _entries(ast.get_docstring(function))
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(placed, defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    settings: dict[str, Setting] = {}
    for each, node in pairs:
        kind, default = module.kind(each.annotation), module.value(node)
        if each.annotation is None and isinstance(default, bool | int | float):
            # Without an annotation the default says the type.
            kind = type(default)
        if each.arg not in ("self", "cls"):
            settings[each.arg] = Setting(kind, default, texts.get(each.arg, ""))
    return settings


def _options(module: _Module, function: ast.FunctionDef) -> tuple[dict[str, Setting], bool]:
    """Return the fields of the record that marks `**options`, and whether it takes no others."""
    last = function.args.kwarg
    marks = getattr(module.kind(last.annotation), "__metadata__", ()) if last else ()
    records = [_settings(mark.path)[0] for mark in marks if isinstance(mark, Named)]
    return (records[0], True) if records else ({}, last is None)


def _entries(docstring: str | None) -> dict[str, str]:
    """Return the texts in the section `Args:` of a docstring by name."""
    _, _, section = (docstring or "").partition("\nArgs:\n")
    lines = takewhile(lambda line: line[:1] in ("", " "), section.splitlines())
    parts = re.split(r"^ {4}\**(\w+)(?: \(.*?\))?: ", "\n".join(lines), flags=re.M)
    return {
        name: " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def _fields(module: _Module, node: ast.ClassDef) -> Iterator[tuple[str, Setting]]:
    for entry, below in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(entry, ast.AnnAssign) or not isinstance(entry.target, ast.Name):
            continue
        if "ClassVar" in ast.dump(entry.annotation):
            continue
        default = entry.value
        if isinstance(default, ast.Call) and getattr(default.func, "id", "") == "field":
            words = {word.arg: word.value for word in default.keywords}
            if getattr(words.get("init"), "value", True) is False:
                continue
            made = words.get("default_factory")
            default = words.get("default", ast.Call(made, [], []) if made else None)
        kind, default = module.kind(entry.annotation), module.value(default)
        yield entry.target.id, Setting(kind, default, _text(below))


def _text(node: ast.stmt | None) -> str:
    """Return the text of a statement that is a docstring; empty for another one."""
    value = node.value if isinstance(node, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else None
    return " ".join(text.split()) if isinstance(text, str) else ""


class _Module:
    """The names that a module defines, from its source."""

    def __init__(self, name: str, path: Path, is_package: bool) -> None:
        """Parse the source."""
        self.name, self._package = name, name if is_package else name.rpartition(".")[0]
        self._defined: dict[str, ast.AST] = {}
        self._imported: dict[str, tuple[str, str]] = {}
        self._note(ast.parse(path.read_text("utf-8")).body)

    def find(self, node: ast.expr) -> tuple[_Module, _Definition] | None:
        """Return the definition of a class or function that an expression names."""
        if isinstance(node, ast.Subscript):
            return self.find(node.value)
        if isinstance(node, ast.Attribute):
            return None
        return self.definition(node.id) if isinstance(node, ast.Name) else None

    def is_standard(self, node: ast.expr) -> bool:
        """Return whether an expression names something of the standard library."""
        name = ast.unparse(node).partition("[")[0].partition(".")[0]
        top = self._imported.get(name, ("", ""))[0].partition(".")[0]
        return top in sys.stdlib_module_names or name == "object"

    def definition(self, name: str) -> tuple[_Module, _Definition] | None:
        """Return the definition of a name of this module, where it was imported from."""
        node = self._defined.get(name)
        if isinstance(node, _Definition):
            return self, node
        if isinstance(node, ast.Name):
            return self.definition(node.id)
        if name in self._imported:
            module, original = self._imported[name]
            return _find(f"{module}.{original}")
        return None

    def kind(self, annotation: ast.expr | None) -> Any:
        """Return the type that an annotation names."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        return Any if annotation is None else self._evaluated(annotation)

    def value(self, default: ast.expr | None) -> Any:
        """Return a default; `Any` if it is no plain value."""
        if default is None:
            return _NO_DEFAULT
        value = self._evaluated(default)
        return value if isinstance(value, _PLAIN) else Any

    def __getitem__(self, name: str) -> Any:
        """Return what a name stands for in an annotation or a default."""
        node = self._defined.get(name)
        if isinstance(node, _Definition):
            return Named.of(f"{self.name}.{name}")
        if isinstance(node, ast.expr):
            return self._evaluated(node)
        if name not in self._imported:
            # A builtin: `eval` finds it.
            raise KeyError(name)
        module, original = self._imported[name]
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or module == Bound.__module__:
            return getattr(import_module(module), original, Any) if original else Any
        source = _module(module)
        return Any if source is None or not original else source._known(original)

    def _known(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            return Any

    def _evaluated(self, node: ast.expr) -> Any:
        """Return the value of an expression that calls nothing but marks; else `Any`."""
        calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
        try:
            if not all(self[getattr(call, "id", "")] in (Bound, Trust) for call in calls):
                return Any
            expression = ast.fix_missing_locations(ast.Expression(node))
            return eval(compile(expression, self.name, "eval"), {}, self)  # type: ignore[arg-type]
        except Exception:
            return Any

    def _note(self, body: list[ast.stmt]) -> None:
        """Note the definitions and imports among statements, and in the branches of conditions."""
        for node in body:
            if isinstance(node, _Definition):
                self._defined[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._defined[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if node.value is not None:
                    self._defined[node.target.id] = node.value
            elif isinstance(node, ast.ImportFrom):
                parts = self._package.split(".")[: None if node.level < 2 else 1 - node.level]
                start = ".".join(parts) if node.level else ""
                module = ".".join(part for part in (start, node.module) if part)
                for each in node.names:
                    self._imported[each.asname or each.name] = (module, each.name)
            elif isinstance(node, ast.Import):
                for each in node.names:
                    self._imported[each.asname or each.name.partition(".")[0]] = (each.name, "")
            elif isinstance(node, ast.If | ast.Try):
                self._note(node.body)


@functools.cache
def _module(name: str) -> _Module | None:
    """Return a module, found without importing its packages; None without a source."""
    top, *rest = name.split(".")
    try:
        spec = find_spec(top)
        for part in rest:
            locations = spec and spec.submodule_search_locations
            name = f"{spec.name}.{part}" if spec else part
            spec = PathFinder.find_spec(name, list(locations)) if locations else None
        origin = Path(spec.origin) if spec and spec.origin else None
        if origin is None or origin.suffix != ".py":
            return None
        return _Module(spec.name, origin, spec.submodule_search_locations is not None)  # type: ignore[union-attr]
    except (ImportError, ValueError, OSError, SyntaxError):
        return None


def _find(target: str) -> tuple[_Module, _Definition] | None:
    """Return the definition of a class or function; None without a source."""
    module, _, name = target.rpartition(".")
    source = _module(module) if module else None
    return source.definition(name) if source else None
