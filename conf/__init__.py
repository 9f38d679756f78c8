"""The choices: one folder per Hydra group, one yaml per option."""
