"""Parts that no training needs: methods, reports, comparisons, served agents, analysis and more.

Extras may import all of the package, and the rest of the package never imports them. They register
their programs as entry points of `laconic.programs` and their configurations (`conf/`) as one of
`laconic.configs`. Any other package may do the same.
"""

if __name__ == "extras":
    raise ImportError(
        "this folder is imported as laconic.extras: write `from laconic import extras`"
    )
