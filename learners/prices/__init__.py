"""Price schedules: how the price of a token moves during training."""
