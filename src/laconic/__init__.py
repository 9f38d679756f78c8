"""Teams of language agents that pay for every word: environments, learners, programs.

    from laconic import envs
    env = envs.make("gsm8k", information="split")

    import laconic
    run = laconic.train(env="gsm8k", steps=20)

In the repository the parts lie at the top level; the links beside this file give them their one
name, `laconic.<part>`, in a clone as in a wheel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laconic.experiments.python import Run, compose, train

__all__ = ["Run", "compose", "train"]


def __getattr__(name: str) -> Any:
    """Load what trains when it is asked for, so that environments alone need no torch."""
    if name in __all__:
        from laconic.experiments import python
        from laconic.records import explain

        thing = getattr(python, name)
        explain([thing])
        return thing
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names too, which are not loaded yet."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    """Return the version of the installed package; "unknown" for a clone that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    from laconic.envs.errors import DISTRIBUTION

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
