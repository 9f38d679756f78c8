"""Doors to other programs: OpenEnv, verifiers and TextArena; episodes as chat and as traces.

A module of another library needs the package of its name. docs/doors.md lists tested versions and
limits. The programs `laconic export` and `laconic import` need none.
"""

from laconic.experiments.command_line.programs import Program

EXPORT = Program(
    "export the episodes of an evaluation as chat JSON Lines or as traces",
    "laconic.extras.interop.export",
)
"""Registered as `export`."""
IMPORT = Program(
    "make an evaluation's episodes of chat JSON Lines",
    "laconic.extras.interop.chat",
)
"""Registered as `import`."""
