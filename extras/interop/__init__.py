"""Adapters to other libraries: OpenEnv, verifiers and TextArena.

Each module needs the package of its name. docs/doors.md lists tested versions and limits.
"""
