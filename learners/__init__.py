"""Everything with gradients: agents, rollouts, advantages, objectives, updates."""

if __name__ == "learners":
    raise ImportError(
        "this folder is imported as laconic.learners: write `from laconic import learners`"
    )
