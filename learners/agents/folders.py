"""Checks and lists of the folder of a model or team, without torch and without loading weights.

Separate policies are in `<folder>/<agent>`, on disk and on the hub. `folder_name` escapes the name
of the agent, and `save_pretrained` writes the files.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from laconic.envs.errors import SettingError
from laconic.learners.untrusted_files import parse_json

ONE = ("config.json", "adapter_config.json")
"""Config files; a folder with one of them is one policy."""
GGUF = ".gguf"
"""Ending of the name of a file of llama.cpp."""
VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "*.model", "*.tiktoken", "tekken.json")
"""Files of which a tokenizer has at least one."""
_READ = (".json", ".jinja", ".safetensors", ".bin", ".model", ".tiktoken")
"""Endings of the files that libraries read from the folder of a model."""
_POINTER = b"version https://git-lfs.github.com/spec/"
"""Beginning of the text that a clone without Git LFS holds in place of a large file."""


def is_path(name: str) -> bool:
    """Return whether a name is a path; a name on the hub has at most one slash."""
    looks = name.startswith((".", "/", "~")) or name.count("/") > 1
    return looks or Path(name).expanduser().exists()


def check_one(name: str) -> None:
    """Check that a path is a model that `save_pretrained` wrote, or a GGUF file.

    Raises:
        SettingError: the path does not exist, or has no config.json or no tokenizer.
    """
    path = Path(name).expanduser()
    if not is_path(name):
        return
    if name.endswith(GGUF) and path.is_file():
        _check_fetched(path, name)
        return
    if not (path / "config.json").is_file():
        problem = "does not exist" if not path.exists() else "holds no config.json"
        raise SettingError(
            f"agent.model={name!r} {problem}; expected a folder written by save_pretrained, a run"
            " folder, or the name of a causal language model on the hub"
        )
    _check_files(path, name)


def check_model(name: str) -> None:
    """Check that a team can be loaded from a path: it holds one policy, or one per agent.

    Raises:
        SettingError: the path does not exist, or has no model and no adapter, or no tokenizer.
    """
    if agents := agent_folders(name):
        for folder in agents.values():
            _check_files(Path(folder), folder)
    elif adapters := agent_folders(name, "adapter_config.json"):
        for folder in adapters.values():
            _check_content(Path(folder), folder)
    elif _is_adapter(name):
        _check_content(Path(name).expanduser(), name)
    else:
        check_one(name)


def folder_name(agent: str) -> str:
    """Return the name of an agent's folder; its agent is `unquote` of it.

    All characters except ASCII letters, digits and `_.-~` are escaped as in a URL. A dot at the
    beginning is escaped too. So no name leads out of the team's folder, and no folder is hidden.
    """
    name = quote(agent, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def places(policies: Mapping[str, object]) -> dict[str, str]:
    """Return the folder of each agent's policy: "." for one policy, else the first agent's."""
    first: dict[int, str] = {}
    for agent, policy in policies.items():
        first.setdefault(id(policy), folder_name(agent))
    alone = len(first) == 1
    return {agent: "." if alone else first[id(policy)] for agent, policy in policies.items()}


def agent_folders(name: str, file: str = "config.json") -> dict[str, str]:
    """Return agent -> folder of separately saved policies; empty if `name` is a policy itself.

    Args:
        name: path of a folder; for a name on the hub the result is empty.
        file: name of a file that each of these folders holds.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir() or (folder / file).is_file():
        return {}
    places = sorted(folder.glob(f"*/{file}"))
    return {unquote(path.parent.name): str(path.parent) for path in places}


@lru_cache(maxsize=32)
def download_policies(name: str, revision: str | None = None) -> str:
    """Download a repository of policies from the hub, and return where to load them from.

    Args:
        name: name on the hub, or path of a folder.
        revision: branch, tag or commit on the hub; None: its main branch.

    Returns:
        Local copy of a repository that holds an adapter or a team of policies. For a path, for a
        single model, or if the hub cannot be reached: `name`. Loading it then raises the error.
    """
    if is_path(name):
        return name
    try:
        folder = Path(_copy(name, revision, [*ONE, *(f"*/{file}" for file in ONE)]))
        if (folder / ONE[0]).is_file() or not any(_policies(folder)):
            return name
        patterns = [f"{policy}/*" for policy in _policies(folder)]
        return _copy(name, revision, [*patterns, "*.json", "*.safetensors"])
    except Exception:  # No name on the hub, no such repository, no network: errors of any type.
        return name


@lru_cache(maxsize=1)
def hub_answers(seconds: float = 5.0) -> bool:
    """Return whether the hub, or the proxy in front of it, accepts a connection; checked once.

    Without this check the libraries would retry every file for a minute.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    hub = urlsplit(constants.ENDPOINT)
    proxy = getproxies().get(hub.scheme)
    target = hub if not proxy or proxy_bypass(hub.hostname or "") else urlsplit(proxy)
    port = target.port or (443 if target.scheme == "https" else 80)
    answers: list[bool] = []

    def connect() -> None:
        with suppress(OSError):
            socket.create_connection((target.hostname, port), timeout=seconds).close()
            answers.append(True)

    # In a thread, because name resolution has no timeout.
    thread = Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers)


def _copy(name: str, revision: str | None, patterns: list[str]) -> str:
    from huggingface_hub import snapshot_download

    return snapshot_download(
        name,
        revision=revision,
        allow_patterns=patterns,
        local_files_only=not hub_answers(),
    )


def _policies(folder: Path) -> set[str]:
    """Return the relative folders of policies; `.` for a lone adapter."""
    return {
        path.parent.relative_to(folder).as_posix()
        for file in ONE
        for path in (*folder.glob(file), *folder.glob(f"*/{file}"))
    }


def _check_files(folder: Path, name: str) -> None:
    _check_content(folder, name)
    if not any(any(folder.glob(pattern)) for pattern in VOCABULARIES):
        raise SettingError(
            f"agent.model={name!r} has no tokenizer: expected tokenizer.json beside config.json."
            " Save it there with tokenizer.save_pretrained(<folder>)"
        )


def _check_content(folder: Path, name: str) -> None:
    """Refuse devices, pipes, pointers of Git LFS, and shards outside of the folder."""
    for file in sorted(path for ending in _READ for path in folder.glob(f"*{ending}")):
        if not file.is_file():
            raise SettingError(
                f"agent.model={name!r}: {file.name} is no file; save the model again"
            )
        # Weights in the form of torch are not read beside others, so nobody needs to fetch them.
        if file.suffix != ".bin" or not any(folder.glob("*.safetensors")):
            _check_fetched(file, name)
        if file.name.endswith(".index.json"):
            _check_shards(file, name)


def _check_fetched(file: Path, name: str) -> None:
    """Refuse a pointer of Git LFS in place of a file."""
    with file.open("rb") as content:
        pointer = content.read(len(_POINTER)) == _POINTER
    if pointer:
        raise SettingError(
            f"agent.model={name!r}: {file.name} is a pointer of Git LFS, not the file itself;"
            f" run `git lfs pull` in the clone, or download {file.name}"
        )


def _check_shards(file: Path, name: str) -> None:
    """Refuse an index whose shards lie elsewhere: any file of the user could be read by it."""
    try:
        index = parse_json(file.read_bytes())
        shards = {str(shard) for shard in index["weight_map"].values()}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise SettingError(
            f"agent.model={name!r}: {file.name} is no index of shards ({error}); save the model"
            " again with save_pretrained(<folder>)"
        ) from error
    for shard in sorted(shards):
        if Path(shard).name != shard or shard == "..":
            raise SettingError(
                f"agent.model={name!r}: {file.name} names {shard[:80]!r}, expected files of its"
                " own folder; save the model again with save_pretrained(<folder>)"
            )


def _is_adapter(name: str) -> bool:
    return (Path(name).expanduser() / "adapter_config.json").is_file()


def apply_umask(folder: Path) -> None:
    """Give files the permissions of their folders.

    safetensors writes files that only their owner may read, whatever the umask is.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(path.parent.stat().st_mode & 0o666)


SMOLLM2 = "SmolLM2-135M-Instruct"
"""Name of the model that `make smollm2` downloads, and of its folder."""
SMOLLM2_HUB = f"HuggingFaceTB/{SMOLLM2}"
"""Name of that model on the hub."""
_PLACES = (Path("models"), Path(__file__).resolve().parents[2] / "models")
"""Folders that `make smollm2` may have written: below the working folder, or the repository."""


def find_smollm2() -> str:
    """Return the folder that `make smollm2` has written; without one the name on the hub."""
    folders = [place / SMOLLM2 for place in _PLACES]
    return next((str(path) for path in folders if (path / "config.json").is_file()), SMOLLM2_HUB)
