"""Doors to the programs of others: their games as environments of ours, ours in their clients.

Each module needs a package of its own and is imported by its name: `textarena`, `openenv`,
`verifiers`; `registry` needs PettingZoo alone. What each opens, with which version it was tried and
what is lost on the way: docs/doors.md.
"""
