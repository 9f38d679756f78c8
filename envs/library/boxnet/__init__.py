"""BoxNet: one robot arm per cell of a grid moves boxes to targets of their color."""

from laconic.envs.library.boxnet.rules import BoxNet

__all__ = ["ENVIRONMENT", "BoxNet"]

ENVIRONMENT = BoxNet
