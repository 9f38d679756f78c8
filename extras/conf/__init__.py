"""Configurations of the extras, in Hydra's search path: one folder per group, as in `conf/`."""
