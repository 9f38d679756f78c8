"""Two agents that write one program: an auxiliary function and the main function that may call it.

Shared by `coop_humaneval` and `coop_mbpp`. Source: MAGRPO (arXiv 2508.04652), coding tasks.
"""
