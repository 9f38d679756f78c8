"""The table: sports with actions that belong to one of them only, and names that are invented."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TABLE = """
baseball: hit a home run; laid down a bunt; stole second base; struck out looking; \
threw a curveball; turned a double play
basketball: dunked the ball; grabbed a rebound; hit a three pointer; made a layup; \
sank a free throw; threw an alley-oop
cricket: bowled a googly; bowled a maiden; hit a cover drive; kept wicket; \
made a stumping; played at silly point
darts: hit double top; hit the bullseye; hit treble twenty; stood at the oche; \
threw a nine-darter; threw one eighty
football: fumbled the snap; ran a slant route; returned a punt; sacked the quarterback; \
threw a touchdown pass; took a knee
golf: carded a birdie; chipped from the bunker; hit the fairway; made par; \
sank a putt; took a mulligan
hockey: drew a penalty shot; iced the puck; left the penalty box; skated behind the net; \
stole the puck; won a face-off
rugby: formed a maul; joined the ruck; jumped in the lineout; pushed in the scrum; \
scored a try; threw a dummy pass
snooker: broke the pack; chalked the cue; laid a snooker; potted the black; \
potted the pink; used the rest
soccer: hit a bicycle kick; nutmegged a defender; scored a header; took a corner kick; \
took a goal kick; took a throw-in
tennis: broke serve; charged the net; faulted twice; saved a set point; \
served an ace; won the tiebreak
volleyball: blocked a spike; dug a spike; made a pancake dig; rotated to the back row; \
served to the libero; set for a spike
"""


def _read(table: str) -> dict[str, tuple[str, ...]]:
    rows = (line.partition(": ") for line in table.strip().splitlines())
    return {sport: tuple(actions.split("; ")) for sport, _, actions in rows}


SPORTS: Mapping[str, tuple[str, ...]] = MappingProxyType(_read(_TABLE))
"""For each sport what a player of it has done, as it follows a name."""
SPORT_OF: Mapping[str, str] = MappingProxyType(
    {action: sport for sport, actions in SPORTS.items() for action in actions}
)
"""For each action its sport."""
FIRST_NAMES = tuple(
    (
        "Abo Alek Ando Bela Beno Cato Dano Dela Edro Elo Fara Feno Gavo Goro Hano Helo Ilo Ivo Jaro"
        " Jelo Kano Keo Lado Leno Lugo Mavo Milo Nalo Neko Nilo Odo Orlo Pavo Pelo Quilo Rado Remo"
        " Salo Sivo Tavo Timo Ugo Ulo Vano Velo Wado Xavo Yaro Yelo Zeno"
    ).split()
)
"""First names, invented or rare."""
LAST_NAMES = tuple(
    (
        "Ambel Arn Barl Bolm Brisk Cald Corv Dask Delv Dorn Eddel Falk Fenn Garn Gild Grell Hald"
        " Hask Horl Irvel Jarn Jost Kald Kelm Korv Larn Lesk Lorm Marn Meld Mosk Narl Nesk Orm Palk"
        " Perl Quarn Rask Reld Rusk Sarn Selk Sorl Tarn Tolk Vask Velm Vorn Wesk Zarn"
    ).split()
)
"""Family names, invented."""
CLUBS = tuple(
    "Badgers Cranes Falcons Foxes Hornets Lions Otters Owls Ravens Sharks Tigers Wolves".split()
)
"""Clubs; each has one sport."""
CUPS = tuple("Amber Bronze Coral Crystal Emerald Harbor Ivory Jade Maple Onyx Ruby Silver".split())
"""Cups; in each one sport is played."""
