"""Commons: agents live off one stock that grows back, and talk between the months."""

from laconic.envs.library.commons.rules import Commons

__all__ = ["ENVIRONMENT", "Commons"]

ENVIRONMENT = Commons
