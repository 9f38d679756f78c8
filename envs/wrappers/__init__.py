"""Views of text environments for clients that want another one.

    env = DiscreteMessages(envs.make("signal", information="split"))

Wrappers are put around an environment one by one; none of them changes what an episode is about.
"""

from laconic.envs.wrappers.discrete_messages import DiscreteMessages
from laconic.envs.wrappers.full_transcript import FullTranscript
from laconic.envs.wrappers.menu import Menu
from laconic.envs.wrappers.mixture import Mixture
from laconic.envs.wrappers.single_agent import SingleAgent
from laconic.envs.wrappers.teammates import Oracle, silent
from laconic.envs.wrappers.token_arrays import BYTES, Codec, TokenArrays
from laconic.envs.wrappers.turn_based import turn_based
from laconic.envs.wrappers.words import vocabulary

__all__ = [
    "BYTES",
    "Codec",
    "DiscreteMessages",
    "FullTranscript",
    "Menu",
    "Mixture",
    "Oracle",
    "SingleAgent",
    "TokenArrays",
    "silent",
    "turn_based",
    "vocabulary",
]
