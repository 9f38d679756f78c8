"""Words for a `_target_` that cannot be built: no such class, a setting too many or too few.

Like `mistakes` it works after a failure only, and offers the nearest right name.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from laconic.experiments.command_line.names import nearest
from laconic.experiments.command_line.targets import (
    default_of,
    named_parameters,
    typed_keys,
    typed_values,
)

_CALLED = re.compile(r"Error in call to target '([^']+)'")
_LOCATED = re.compile(r"Error locating target '([^']+)'")
_NOT_CALLABLE = re.compile(r"Expected a callable target, got '(.*)' of type '(\w+)'")
_MODULE = re.compile(r"<module '([^']+)'")
_KEYWORD = re.compile(r"unexpected keyword argument '([^']+)'")
_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (.+)")


def describe_target(error: BaseException, key: str, overrides: Sequence[str] = ()) -> str | None:
    """One message for the config node `key` that could not be built; None when nothing is known."""
    text = str(error)
    if found := _LOCATED.search(text):
        return _describe_lost(found[1], key)
    if found := _NOT_CALLABLE.search(text):
        return _describe_not_callable(found[1], found[2], key)
    if not (found := _CALLED.search(text)):
        return None
    if keyword := _KEYWORD.search(text):
        return _describe_unknown(found[1], keyword[1], key, overrides)
    if missing := _MISSING.search(text):
        return _describe_missing(found[1], re.findall(r"'(\w+)'", missing[1]), key)
    return _describe_word(found[1], key, overrides) if "TypeError" in text else None


def _describe_unknown(target: str, name: str, key: str, overrides: Sequence[str]) -> str:
    """A setting that the class does not take: the user's, or one of a yaml file."""
    wrong = _dotted(key, name)
    known = sorted(_dotted(key, one) for one in named_parameters(target))
    near = nearest(wrong, known)
    hint = f" Did you mean {near!r}?" if near else ""
    message = f"unknown config key {wrong!r}.{hint} Known: {', '.join(known) or 'none'}"
    typed = typed_keys(overrides)
    # The last part alone, because the class may have been given it inside another setting.
    if not overrides or name in {one.rpartition(".")[2] for one in typed}:
        return message
    message += f". No override sets {wrong}: a yaml file does, and"
    if f"{key}._target_" in typed and f"~{key}" not in overrides:
        return f"{message} '~{key}' +{key}._target_={target} begins without the settings of those"
    return f"{message} '~{wrong}' removes it"


def _describe_missing(target: str, names: Sequence[str], key: str) -> str | None:
    """Settings that the class needs."""
    if not names or not set(names) <= set(named_parameters(target)):
        return None
    wanted = " ".join(f"+{_dotted(key, name)}=<value>" for name in names)
    return f"{target} needs {', '.join(map(repr, names))}; pass {wanted}"


def _describe_word(target: str, key: str, overrides: Sequence[str]) -> str | None:
    """A word that the user typed where the class has a number."""
    for typed, value in typed_values(overrides).items():
        parent, _, name = typed.rpartition(".")
        default = default_of(target, name) if parent == key else None
        if isinstance(value, str) and isinstance(default, int | float):
            return f"{typed} must be a number, such as {default!r}; got {value!r}"
    return None


def _describe_not_callable(shown: str, kind: str, key: str) -> str:
    """A path that leads to something, but to no class and no function."""
    message = f"{_dotted(key, '_target_')} must name a class or a function"
    if not (module := _MODULE.search(shown)):
        return f"{message}; got {shown} of type {kind}"
    made = [f"{module[1]}.{name}" for name in _made(import_module(module[1]))]
    return f"{message}; {module[1]!r} is a module. It has: {', '.join(made) or 'none'}"


def _describe_lost(target: str, key: str) -> str | None:
    """A path that leads nowhere: where it breaks off, and what has a similar name there."""
    where = f" (config key {key!r})" if key else ""
    parts = target.split(".")
    found: Any = None
    for count in range(1, len(parts) + 1):
        path = ".".join(parts[:count])
        try:
            found = _step(found, path)
        except ModuleNotFoundError as error:
            # The module may be there, and something that it imports may be not.
            return f"{_describe_step(found, path, target)}{where}" if error.name == path else None
        except AttributeError:
            return f"{_describe_step(found, path, target)}{where}"
        except Exception:
            return None
    return None


def _step(found: Any, path: str) -> Any:
    """The attribute or submodule at the end of a path, as Hydra looks for it."""
    name = path.rpartition(".")[2]
    if found is not None and hasattr(found, name):
        return getattr(found, name)
    if found is None or isinstance(found, ModuleType):
        return import_module(path)
    raise AttributeError(name)


def _describe_step(found: Any, path: str, target: str) -> str:
    before, _, name = path.rpartition(".")
    rest = target.removeprefix(path)
    if found is None:
        near = get_close_matches(name, [one.name for one in pkgutil.iter_modules()], 1, cutoff=0.75)
        form = "" if rest else "; expected <module>.<class>"
        return (
            f"there is no module {name!r} for {target!r}, neither in {str(Path.cwd())!r} nor among"
            f" what is installed{form}.{_hint(near, '', rest)}"
        )
    inner = pkgutil.iter_modules(getattr(found, "__path__", []))
    names = sorted({*dir(found), *(one.name for one in inner)})
    near = get_close_matches(name, [one for one in names if one[0] != "_"], 3, cutoff=0.6)
    right = [one for one in near if _leads_somewhere(f"{before}.{one}{rest}")]
    other = "" if right else f" It has: {', '.join(_made(found)) or 'none'}"
    return f"{before!r} has no {name!r}.{_hint(right, f'{before}.', rest)}{other}"


def _hint(near: Sequence[str], before: str, rest: str) -> str:
    names = " or ".join(repr(before + one + rest) for one in near)
    return f" Did you mean {names}?" if near else ""


def _leads_somewhere(target: str) -> bool:
    try:
        pkgutil.resolve_name(target)
    except Exception:
        return False
    return True


def _made(found: Any) -> list[str]:
    """Public classes and functions that a module or class holds: its own, or else those it uses."""
    held = getattr(found, "__dict__", {})
    names = [name for name, one in held.items() if callable(one) and name[0] != "_"]
    package = getattr(found, "__name__", "").partition(".")[0]
    homes = {name: getattr(held[name], "__module__", None) or "" for name in names}
    own = [name for name in names if homes[name].partition(".")[0] == package]
    return sorted(own or names)[:20]


def _dotted(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
