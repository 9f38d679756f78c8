"""Shared parts of families: sources of real rows, drawing of tasks, bases of benchmarks."""
