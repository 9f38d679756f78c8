"""Wrappers: other views of text environments.

    env = DiscreteMessages(envs.make("signal"))

Wrappers compose. None of them changes the rules or the reward.
"""

from laconic.envs.wrappers.base import FullTranscript
from laconic.envs.wrappers.discrete_messages import DiscreteMessages
from laconic.envs.wrappers.interfaces import Oracle, SingleAgent, Teammate, silent, turn_based
from laconic.envs.wrappers.mixture import Mixture
from laconic.envs.wrappers.numeric import Menu, vocabulary
from laconic.envs.wrappers.token_arrays import BYTES, Codec, TokenArrays
from laconic.records import explain

__all__ = [
    "BYTES",
    "Codec",
    "DiscreteMessages",
    "FullTranscript",
    "Menu",
    "Mixture",
    "Oracle",
    "SingleAgent",
    "Teammate",
    "TokenArrays",
    "silent",
    "turn_based",
    "vocabulary",
]

explain((Codec, Menu))
