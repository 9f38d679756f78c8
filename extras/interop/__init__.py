"""Doors to other libraries: their games as environments of ours, ours in their clients.

Each module needs a package of its own and is imported by its name: `textarena`, `openenv`,
`verifiers`. What each opens, with which version it was tried and what is lost on the way:
docs/doors.md.
"""
