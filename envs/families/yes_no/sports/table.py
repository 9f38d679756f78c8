"""The table: sports, and names of athletes, moves, clubs and cups, which are invented."""

from __future__ import annotations

SPORTS = tuple(
    "baseball basketball cricket darts football golf hockey rugby snooker soccer tennis"
    " volleyball".split()
)
"""Sports by their real names."""
FIRST_NAMES = tuple(
    "Abo Alek Ando Bela Beno Cato Dano Dela Edro Elo Fara Feno Gavo Goro Hano Helo Ilo Ivo Jaro"
    " Jelo Kano Keo Lado Leno Lugo Mavo Milo Nalo Neko Nilo Odo Orlo Pavo Pelo Quilo Rado Remo"
    " Salo Sivo Tavo Timo Ugo Ulo Vano Velo Wado Xavo Yaro Yelo Zeno".split()
)
"""First names, invented or rare."""
LAST_NAMES = tuple(
    "Ambel Arn Barl Bolm Brisk Cald Corv Dask Delv Dorn Eddel Falk Fenn Garn Gild Grell Hald"
    " Hask Horl Irvel Jarn Jost Kald Kelm Korv Larn Lesk Lorm Marn Meld Mosk Narl Nesk Orm Palk"
    " Perl Quarn Rask Reld Rusk Sarn Selk Sorl Tarn Tolk Vask Velm Vorn Wesk Zarn".split()
)
"""Family names, invented."""
VERBS = tuple(
    "blocked caught chased cleared copied dodged drew dropped faked forced held landed led"
    " lifted lost made missed nailed opened passed played pulled pushed saved sank set shot"
    " spun stole threw took won".split()
)
"""Verbs of moves, in the past tense."""
MOVES = tuple(
    "bilp bork brell brint crask crunt dilf dorve drusk fenk flimp flork frisp glant glemp"
    " gorsk grelk hulm jask jelt jorp kemp klint krelp lorve lusk mipe mordle nask nemp nolk"
    " plesk plomp prask quelt rilp rommet sharn skelp slorn smeck sprole stelk tasp trelk tusp"
    " vambo vort welk zorch".split()
)
"""Moves, invented: nobody knows the sport of one who has not been told."""
CLUBS = tuple(
    "Badgers Cranes Falcons Foxes Hornets Lions Otters Owls Ravens Sharks Tigers Wolves".split()
)
"""Clubs; each has one sport."""
_CUPS = "Amber Bronze Coral Crystal Emerald Harbor Ivory Jade Maple Onyx Ruby Silver"
CUPS = tuple(f"{name} Cup" for name in _CUPS.split())
"""Cups; in each one sport is played."""
