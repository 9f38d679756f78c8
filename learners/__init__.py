"""Everything with gradients: agents, rollouts, advantages, objectives, updates."""
