"""Lists the names of torch that the package uses, and checks them against a wheel of torch.

    python tests/support/torch_names.py                  print the names
    python tests/support/torch_names.py <wheel> [...]    print the names that a wheel lacks

The lower bound of torch in `pyproject.toml` stands on the second. A wheel is read, not installed:
`pip download --no-deps --platform macosx_11_0_arm64 --only-binary=:all: torch==2.6.0`.
"""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("envs", "learners", "experiments", "extras")


def used_names() -> set[str]:
    """Return each dotted name of torch in the code of the package, such as `torch.nn.Linear`."""
    names: set[str] = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            names |= names_of(ast.parse(path.read_text("utf-8")))
    return names


def names_of(tree: ast.Module) -> set[str]:
    """Return the dotted names of torch in one module, through the aliases of its imports."""
    aliases: dict[str, str] = {}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    aliases[alias.asname or "torch"] = alias.name if alias.asname else "torch"
                    names.add(alias.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                names.add(f"{node.module}.{alias.name}")
    for node in ast.walk(tree):
        parts: list[str] = []
        value: ast.AST = node
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if parts and isinstance(value, ast.Name) and value.id in aliases:
            names.add(".".join([aliases[value.id], *reversed(parts)]))
    return names


class Wheel:
    """The modules of a wheel of torch, read as text."""

    def __init__(self, path: Path) -> None:
        """Open the wheel at `path`."""
        self._archive = zipfile.ZipFile(path)
        self._files = set(self._archive.namelist())

    def has(self, name: str) -> bool:
        """Return whether a dotted name is a module of the wheel or stands in one.

        Only the first attribute below a module is looked up: methods of objects and operators that
        are registered at run time (`torch.ops`) cannot be read from files.
        """
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            sources = self._sources("/".join(parts[:length]))
            if sources:
                if length == len(parts) or parts[:2] == ["torch", "ops"]:
                    return True
                word = re.compile(rf"\b{re.escape(parts[length])}\b")
                return any(word.search(source) for source in sources)
        return False

    def _sources(self, module: str) -> list[str]:
        """Return the texts in which the names of a module are declared, none if it is no module."""
        files = [f"{module}{ending}" for ending in (".py", ".pyi", "/__init__.py", "/__init__.pyi")]
        sources = [self._archive.read(file).decode() for file in files if file in self._files]
        if sources and module == "torch":
            sources += self._sources("torch/_C") + self._sources("torch/_C/_VariableFunctions")
        stars = re.findall(r"^\s*from (\S+) import \*", "\n".join(sources), re.MULTILINE)
        for star in stars:
            path = star.removeprefix(".").replace(".", "/")
            sources += self._sources(f"{module}/{path}" if star.startswith(".") else path)
        return sources


def main() -> None:
    """Print the names, or those that each wheel lacks."""
    names = sorted(used_names())
    if not sys.argv[1:]:
        print("\n".join(names))
    for path in sys.argv[1:]:
        wheel = Wheel(Path(path))
        lacking = [name for name in names if not wheel.has(name)]
        print(f"{Path(path).name}: {len(names)} names, {len(lacking)} are lacking {lacking}")


if __name__ == "__main__":
    main()
