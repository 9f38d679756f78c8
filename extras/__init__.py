"""What stands beside training: analysis, swarms, doors to other libraries, a viewer, speed.

Extras may import all of the package, and nothing of it imports them. Their programs are registered
as entry points of `laconic.programs`, their configurations (`conf/`) as one of `laconic.configs`,
and any other package may register its own in the same way.
"""

if __name__ == "extras":
    raise ImportError(
        "this folder is imported as laconic.extras: write `from laconic import extras`"
    )
