"""Figures of small samples: intervals, pass at k."""
