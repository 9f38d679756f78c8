"""The people, things and places that the knowledge base is about."""

from __future__ import annotations

from laconic.envs.families.arithmetic import words

PEOPLE = tuple(
    sorted(
        {
            *words.PEOPLE,
            *"Alma Bob Cleo Dora Ella Finn Greta Hugo Ines Jonah Kira Lars Mona Nils".split(),
            *"Otto Pia Rita Sven Tara Vera".split(),
        }
    )
)
"""Everybody; names say nothing about who they are."""
THINGS = tuple(item[:-1] for item in words.ITEMS if item != "coins")
"""Things that lie somewhere and can be bought; money is none."""
TEXTS = tuple("book letter list map note poem recipe report riddle sign song story".split())
"""Things that can be read."""
TOWNS = tuple(
    (
        "Bath Bern Bonn Cairo Cork Delhi Doha Fez Genoa Ghent Graz Hanoi Kobe Kyiv Lagos Leeds Lima"
        " Linz Lyon Malmo Metz Milan Minsk Nara Oslo Paris Perth Pisa Porto Praia Quito Riga Rome"
        " Siena Sofia Tokyo Tunis Turin Vaduz York"
    ).split()
)
"""Towns; where they are in the world plays no part."""
LANGUAGES = tuple("Czech Danish Dutch Finnish Greek Hindi Irish Latin Polish Thai Welsh".split())
"""Languages, of which everybody reads one."""
RELATIONS = tuple("boss coach cousin doctor friend neighbor teacher".split())
"""Of each kind everybody has one."""
