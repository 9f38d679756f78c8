"""Claims of the ledger and of former economies, docs/results/index.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rows import seeds
from values import (
    addressed,
    beside_free,
    change_of_each,
    channel,
    commons,
    crossed,
    elected,
    entries,
    exactly,
    gates,
    hindsight,
    in_others,
    linked,
    needed,
    normalized,
    on_gpu,
    programs,
    quick,
    schemes,
    scores,
    short,
    voted,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the ledger."""

    text: str
    """What is claimed, with a link to its page."""
    command: str
    """Command that makes the runs again."""
    runs: Sequence[str]
    """Rows of the trainings or comparisons; their provenance names the commits."""
    seeds: str
    """Seeds of the trainings."""
    value: Callable[[], str]
    """Measured value with its interval."""
    limits: str
    """What the value does not show."""
    rate: str
    """Credit, task reward that a token costs, and when it is charged."""
    added: str = ""
    """Commit that added the rows, where no provenance was recorded."""


LEVELS = "gsm8k_harder/"
PROGRAMS = "coop_humaneval/best_{}"
LEVEL_1 = "gsm8k_level1/default_{}"
NOW = "own, 0.12 for 12 tokens, by pass rate of earlier updates, squared"
EACH = NOW.replace("own", "each credit")
SET = "each credit, 0.12 for the tokens of a brief team, by pass rate of earlier updates, squared"
FULL = "own, 0.12 for 2 tokens, in full"
FREE = "no price"
UNTRAINED = "none; nothing is trained"
READING = "task reward less 0.01 for each token read"
PRESENT = (NOW, EACH, SET, FREE, FULL, UNTRAINED, READING)
"""Rates of today's economy; claims at others stand in the table of former economies."""
GROUP = "by pass rate squared"
OWN_GROUP = f"own, 0.06, {GROUP}"

CLAIMS: Sequence[Claim] = (
    Claim(
        "The shipped team says half as much and solves as many ([quickstart](quickstart.md))",
        "`laconic train -m seed=0,1,2,3,4 threads=1`",
        [],
        "0 to 4",
        partial(quick, "strong"),
        "0.7 M parameters, easiest level",
        NOW,
        "f1b2427f",
    ),
    Claim(
        "From a weak start the same training solves more and says an eighth less "
        "([quickstart](quickstart.md))",
        "`make evidence-price`",
        [],
        "0 to 4",
        partial(quick, "weak"),
        "no control without a price",
        NOW,
        "f1b2427f",
    ),
    Claim(
        "In a world that needs a team, a trained one falls silent where it is unsure, without a "
        "price, and solves more than if all spoke ([needed](needed.md))",
        "`make evidence-needed`",
        [],
        "0 to 4",
        needed,
        "one world, two colors, a start that is silent by its eyes",
        FREE,
        "a84a7b32",
    ),
    Claim(
        "In cups a team finds the relay or the broadcast by the price of a round, later than theory"
        " says; it finds no code that is cheaper ([needed](needed.md))",
        "`make evidence-needed`",
        [],
        "0 to 4",
        in_others,
        "one size of each world; starts that know what silence says",
        FULL,
        "a84a7b32",
    ),
    Claim(
        "Of six methods at one price and budget none comes near the best known team in three of "
        "six environments ([benchmark](benchmark.md))",
        "`laconic benchmark benchmark=core learner=gspo,grpo,rloo,dr_mas,magrpo,mappo`",
        [],
        "0 to 2",
        normalized,
        "interquartile means of normalized scores; small policies, our defaults",
        SET,
        "e564b393",
    ),
    Claim(
        "In small updates from a weak start the default loses informed speech on two seeds of "
        "five; no method that talks clearly solves more, and centering at the median falls silent "
        "([one rate](one_rate.md))",
        "`make evidence-price`",
        [],
        "0 to 4",
        partial(
            short,
            *("gspo", "price 0", "team", "dr_grpo", "mc_grpo"),
        ),
        "five seeds, 30 updates, one weak start",
        EACH,
        "8db65427",
    ),
    Claim(
        "At the former default SmolLM2 keeps talking on harder tasks, in fewer words "
        "([gsm8k](gsm8k.md))",
        "`make evidence-harder-default`",
        seeds(f"{LEVELS}default_{{}}", 0, 1, 2, kind=""),
        "0 to 2",
        partial(
            change_of_each,
            f"{LEVELS}default_start_{{}}_evaluation",
            f"{LEVELS}default_{{}}_evaluation",
            *(0, 1, 2),
        ),
        "30 updates; accuracy is uncertain by 7 points",
        OWN_GROUP,
    ),
    Claim(
        "At the former default SmolLM2 says little more than half on gsm8k and solves more; "
        "without a price it may solve more still, in more words ([gsm8k](gsm8k.md))",
        "`make evidence-gsm8k`, and with `PRICE=0 SEEDS=1`",
        [*seeds(LEVEL_1, 1, 2, 3, kind=""), "gsm8k_level1/free_1"],
        "1 to 3",
        partial(
            beside_free,
            LEVEL_1.format("start") + "_evaluation",
            "gsm8k_level1/free_1_evaluation",
            *seeds(LEVEL_1, 1, 2, 3),
        ),
        "easiest level, one start, one seed at price 0",
        OWN_GROUP,
    ),
    Claim(
        "Cut off at the trained team's tokens, its start solves nothing; one agent that reads "
        "everything solves more ([controls](controls.md))",
        "`make evidence-gsm8k-controls FROM=start SEEDS='1 2'`",
        [],
        "1",
        partial(
            entries,
            "gsm8k_level1/comparison",
            seed_1="trained",
            capped="cap",
            single="one agent",
        ),
        "the one agent needs no talk",
        "own, 0.01, always",
        "3ff3ca3d",
    ),
    Claim(
        "Against an exact truth every credit in reward units needs 512 to 1,024 plays to rank "
        "messages rightly; in standard deviations of a group it never does once words cost "
        "something ([fidelity](fidelity.md))",
        "`make evidence-fidelity`",
        [],
        "the number of plays",
        exactly,
        "one world, one team, nothing is trained; 600 measurements each",
        UNTRAINED,
        "d07899b5",
    ),
    Claim(
        "MAGRPO improves sampled programs of two authors ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(programs, "sampled"),
        "score of 4",
        FREE,
    ),
    Claim(
        "MAGRPO improves no greedy programs of two authors ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(programs, "greedy"),
        "score of 4",
        FREE,
    ),
    Claim(
        "Summaries score more, and are no better to read ([two authors](two_authors.md))",
        "`make evidence-tldr SEEDS='2 3 4'`",
        [],
        "2 to 4",
        partial(scores, "tldr/start_evaluation", *seeds("tldr/seed_{}", 2, 3, 4)),
        "score of 2.98, by lengths",
        FREE,
        "13c524b2",
    ),
    Claim(
        "Over a lossy channel a team keeps talking at the former default, and solves what can be "
        "solved ([channel](../channel.md))",
        "`make evidence-channel`",
        [],
        "0 to 2",
        channel,
        "at a loss of 0.3, 49 % of the tasks can be solved",
        OWN_GROUP,
        "8005bfaa",
    ),
    Claim(
        "A price ends most talk on the commons ([commons](../environments/commons.md))",
        "`make evidence-commons`",
        [],
        "1 to 3",
        commons,
        "nothing has to be told there",
        f"own, none and 0.01, {GROUP}",
        "8005bfaa",
    ),
    Claim(
        "Trained teams play as well with those of other seeds"
        " ([compare](../compare.md#cross-play))",
        "`laconic compare 'entry=[]' 'compare.runs=[<run>,<run>]' compare.cross=solver`",
        [],
        "0 to 4",
        crossed,
        "all seeds share one start",
        OWN_GROUP,
        "22663c70",
    ),
    Claim(
        "Telling once what one sees costs less than a plan every step"
        " ([boxnet](../environments/boxnet.md))",
        "`make evidence-boxnet`",
        [],
        "0 (grids)",
        schemes,
        "scripts that plan alike; no model",
        FREE,
        "62ce8e58",
    ),
    Claim(
        "A gate that knows who is informed spares a quarter of the calls; one that learned it "
        "loses 0 to 6 points ([gate](../gate.md))",
        "`make evidence-gate`",
        [],
        "0 to 2",
        gates,
        "easiest level; gate and large policy are of one size",
        f"silence, 0.06, {GROUP}",
        "a19bb32f",
    ),
    Claim(
        "Four votes reach less than their closed form says, two of them significantly; tokens of"
        " one agent pay more ([synergy](../synergy.md))",
        "`make evidence-votes`",
        ["votes"],
        "0",
        voted,
        "sampled, 200 tasks; one policy of 0.7 M parameters",
        UNTRAINED,
    ),
    Claim(
        "Learned edges end as the star: the team solves as many and reads a third fewer tokens"
        " ([topologies](../topologies.md))",
        "`make evidence-topology`",
        [],
        "0 to 2",
        linked,
        "the shipped team is frozen; one level, one rate of reading",
        READING,
        "efe16499",
    ),
    Claim(
        "Seven updates of the first recipe need 8 GB of a GPU ([recipe](../recipes/gpu_24gb.md))",
        "`laconic train experiment=recipes/gpu_24gb engine=own`, with the changes of its page",
        [],
        "0",
        on_gpu,
        "random weights, own engine, on an H200; ranges, not intervals",
        "own, 3 / 350, always",
        "c58a2a85",
    ),
    Claim(
        "Tiny policies that learn from their vote agree more and solve less; a guard ends the"
        " runs that collapse ([rlccf](../rlccf.md))",
        "`make evidence-rlccf`",
        ["rlccf"],
        "0 to 2",
        lambda: f"{elected('strong')}; {elected('weak')}",
        "three policies of one origin, 30 updates",
        FREE,
    ),
    Claim(
        "A comment that it reads in hindsight makes a policy brief without a price; two seeds of "
        "three lose more than a point ([sdpo](../sdpo.md))",
        "`make evidence-hindsight`",
        [],
        "0 to 2",
        partial(hindsight, "mean"),
        "one start, taught to obey the comment; ten more updates undo it",
        FREE,
        "1cd9d57e",
    ),
    Claim(
        "Charged for each listener, a team that already addresses keeps one listener a message"
        " ([addressing](../addressing.md))",
        "`make evidence-addressing`",
        [],
        "0 to 2",
        addressed,
        "the start addresses already; one start of four",
        f"listeners, 0.06, {GROUP}",
        "68bfceec",
    ),
)
