"""Plausible and implausible sentences about invented athletes, from a table of sports."""
