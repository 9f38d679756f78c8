"""Claims of the ledger, docs/results/index.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from figures import SHORT_SEEDS, SHORT_TRAININGS
from rows import seeds
from values import (
    addressed,
    beside_free,
    by_rank,
    change,
    change_of_each,
    changes,
    channel,
    commons,
    crossed,
    demanded,
    elected,
    entries,
    faithful,
    gates,
    hindsight,
    last,
    linked,
    on_gpu,
    programs,
    quick,
    remedied,
    schemes,
    scores,
    short,
    short_trained,
    spread,
    three_minutes,
    told,
    voted,
    worth,
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
SOLVED = f"{LEVELS}levels_1_to_3_solved_{{}}"
SILENCE = f"{LEVELS}knows_silence_{{}}"
WORDINGS = f"{LEVELS}two_wordings_{{}}"
WORDY = f"{LEVELS}wordy_{{}}"
THIRD = "math/third_start"
PROGRAMS = "coop_humaneval/best_{}"
ROWS = seeds("gsm8k_rows/solved_{}", 1, 2, 3, kind="_500_evaluation")
ROWS_START = "gsm8k_rows/second_start_500_evaluation"
LEVEL_1 = "gsm8k_level1/default_{}"
PRICED = ("gsm8k", "math", "mbpp", "sports", "strategyqa", "humaneval", "checkmate", "signal")
FORMER = "own, 0.01, always"
SOLVED_ONLY = "own, 0.01, solved episodes"
TODAY = "own, 0.06, by pass rate squared"
MIXED = "each credit, 0.06, by pass rate squared"
EACH = "each credit, 0.06; nothing is trained"
UNTRAINED = "own, 0.06; nothing is trained"
TEAM = "own and team, 0.06, or team, 0.02; by pass rate squared"
PRICES = "own, price / 50, by pass rate squared"
GUESSED = "own, 0.06 or 0.02, by pass rate squared"
GATED = "silence, 0.06, by pass rate squared"
NOW = "own, 0.12 for 12 tokens, by pass rate of earlier updates, squared"
PRESENT = (NOW, TODAY, MIXED, EACH, UNTRAINED, TEAM, PRICES, GUESSED, GATED)
"""Rates of claims under today's price."""

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
        "Three minutes of training bring eight shipped policies to 0.37 to 0.66 of their tokens; "
        "in `humaneval`, `mbpp` and `signal` informed helpers fall silent ([starts](../starts.md))",
        "`make evidence-three-minutes`",
        [],
        "1 to 3",
        partial(three_minutes, *PRICED),
        "generated tasks; wide intervals on `humaneval` and `signal`",
        GUESSED,
        "4cf57b59, b39e4b28, b1941621",
    ),
    Claim(
        "At one price for every token, five seeds cannot tell the accuracy of credits apart, and "
        "Shapley's says least; centering at the median falls silent ([one rate](one_rate.md))",
        "`make evidence-price`",
        [],
        "0 to 4",
        partial(
            short,
            ("prices", "power 2, price 3"),
            *(("credits", name) for name in ("team", "silence", "shapley")),
            ("methods", "mc_grpo"),
        ),
        "five seeds, 30 updates, one weak start",
        MIXED,
        "4cf57b59, 11adf2df",
    ),
    Claim(
        "At the default price SmolLM2 keeps talking on harder tasks, in fewer words "
        "([levels](levels_default.md))",
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
        TODAY,
    ),
    Claim(
        "At the default price SmolLM2 says little more than half on gsm8k and solves more; without "
        "a price it may solve more still, in more words ([gsm8k](gsm8k.md))",
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
        TODAY,
    ),
    Claim(
        "Always charged, SmolLM2 says half as much, and no loss of accuracy is seen "
        "([former price](former_price.md))",
        "`make evidence-gsm8k UPDATES=45`, and with `FROM=start`",
        seeds("gsm8k_level1/apart_{}", 1, 2, 3, kind=""),
        "1 to 3",
        lambda: changes(
            start_in_three_parts=("gsm8k_level1/start", "gsm8k_level1/seed_{}", 1, 2, 3),
            in_one_part=("gsm8k_level1/apart_start", "gsm8k_level1/apart_{}", 1, 2, 3),
        ),
        "easiest level; two seeds of the second start miss half of the tokens",
        FORMER,
        "3ff3ca3d",
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
        FORMER,
        "3ff3ca3d",
    ),
    Claim(
        "On Sports Understanding and mathematics tokens fall to about half, and no loss of "
        "accuracy is seen ([former price](former_price.md))",
        "`make evidence-sports evidence-math`, with other starts",
        [
            *seeds("sports/at_once_{}", 7, 8, kind=""),
            *seeds(f"{THIRD}_gspo_{{}}", 3, 4, 5, 6, kind=""),
        ],
        "1 to 3, 7 to 9, 1 to 3, 3 to 6",
        lambda: changes(
            sports=("sports/start", "sports/seed_{}", 1, 2, 3),
            sports_at_once=("sports/at_once_start", "sports/at_once_{}", 7, 8, 9),
            mathematics=("math/start", "math/seed_{}", 1, 2, 3),
            third_start=(THIRD, f"{THIRD}_gspo_{{}}", 3, 4, 5, 6),
        ),
        "generated tasks; mathematics from weak starts; two seeds of three miss half in two series",
        FORMER,
        "8ce4a9c0, b561106a",
    ),
    Claim(
        "Imitating the shortest solved episodes comes near, with one seed of three below its "
        "start ([former price](former_price.md))",
        "`make evidence-own-best SEEDS='3 4 5'`",
        seeds(f"{THIRD}_own_best_slow_{{}}", 3, 4, 5, kind=""),
        "3 to 5",
        lambda: changes(mathematics=(THIRD, f"{THIRD}_own_best_slow_{{}}", 3, 4, 5)),
        "rate chosen on seed 3",
        "no price",
    ),
    Claim(
        "Told to be brief, teams say about as much; two of six lose 5 points or more "
        "([former price](former_price.md))",
        "`make evidence-told evidence-told-math`",
        ["told/instructed", "math/instructed"],
        "0 to 3, one team each",
        told,
        "one wording; taught by a wordy teacher",
        "no price",
    ),
    Claim(
        "Without silence on balance silence dies out; with it a part stays "
        "([former price](former_price.md))",
        "`make evidence-extinction`",
        seeds("extinction/none_{}", 1, 2, 3, kind=""),
        "1 to 3",
        partial(remedied, "none", "balance"),
        "six updates, sampled; after 20 it is higher on each of three seeds",
        FORMER,
    ),
    Claim(
        "Always charged, teams that solve little stop solving ([former price](former_price.md))",
        "`make evidence-strategyqa-first evidence-small-first`",
        [f"{LEVELS}levels_1_to_3_own_0"],
        "1, 0, 0, 0",
        lambda: (
            f"solved in the last update: StrategyQA {last('accuracy', 'strategyqa/price_0.5')}; "
            f"levels 1 to 3 {last('accuracy', LEVELS + 'levels_1_to_3_own_0')}; "
            f"small policy {last('accuracy', 'harder/price_0.5', 'harder/price_0.1')}"
        ),
        "one seed each, stopped; the commands train at today's price",
        FORMER,
        "c938c33a, 3f5224b0",
    ),
    Claim(
        "Charged in solved episodes, they keep talking, and no start meets every bar "
        "([former price](former_price.md))",
        "`make evidence-harder`, with `FROM=`; `make evidence-small`",
        [
            *seeds(SOLVED, 4, 5, 6, kind=""),
            *seeds(SILENCE, 4, 5, 6, kind=""),
            *seeds(WORDINGS, 7, 8, 9, kind=""),
            *seeds(WORDY, 13, 14, 15, kind=""),
            *seeds("harder/solved_{}", 1, 2, 3, 4, 5, kind=""),
        ],
        "4 to 6, 4 to 6, 7 to 9, 13 to 15, 1 to 5",
        lambda: changes(
            levels_1_to_3=(f"{LEVELS}levels_1_to_3_start_500", SOLVED, 4, 5, 6),
            knows_silence=(f"{LEVELS}knows_silence_start_500", SILENCE, 4, 5, 6),
            two_wordings=(f"{LEVELS}two_wordings_start_500", WORDINGS, 7, 8, 9),
            wordy=(f"{LEVELS}wordy_start_500", WORDY, 13, 14, 15),
            small_policy=("harder/shipped_start_500", "harder/solved_{}", 1, 2, 3, 4, 5),
        ),
        "20 to 60 updates; the page has a fifth start",
        SOLVED_ONLY,
    ),
    Claim(
        "On public rows, teams guess or change little ([former price](former_price.md))",
        "`make evidence-strategyqa evidence-gsm8k-rows`",
        [
            *seeds("strategyqa/bare_{}", 1, 2, 3, kind=""),
            *seeds("gsm8k_rows/solved_{}", 1, 2, 3, kind=""),
        ],
        "1 to 3",
        lambda: (
            f"{changes(StrategyQA=('strategyqa/bare_start', 'strategyqa/bare_{}', 1, 2, 3))}; "
            f"an informed message of seed 2 is worth {worth('strategyqa/bare_2_demand')}; "
            f"GSM8K: {change(ROWS_START, *ROWS).replace('; ', ' in ')}"
        ),
        "two seeds pass every bar by saying no; eight groups of ten have no solution",
        SOLVED_ONLY,
    ),
    Claim(
        "MAGRPO improves sampled programs of two authors ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(programs, "sampled"),
        "score of 4",
        "no price",
    ),
    Claim(
        "MAGRPO improves no greedy programs of two authors ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(programs, "greedy"),
        "score of 4",
        "no price",
    ),
    Claim(
        "Summaries score more, and are no better to read ([two authors](two_authors.md))",
        "`make evidence-tldr SEEDS='2 3 4'`",
        [],
        "2 to 4",
        partial(scores, "tldr/start_evaluation", *seeds("tldr/seed_{}", 2, 3, 4)),
        "score of 2.98, by lengths",
        "no price",
        "13c524b2",
    ),
    Claim(
        "Above the choke price of its start no trained team falls silent ([demand](../demand.md))",
        "`make evidence-demand`",
        [],
        "0 to 2",
        demanded,
        "0.7 M parameters",
        PRICES,
        "f8f21956",
    ),
    Claim(
        "Over a lossy channel a team keeps talking at the default price, and solves what can be "
        "solved ([channel](../channel.md))",
        "`make evidence-channel`",
        [],
        "0 to 2",
        channel,
        "at a loss of 0.3, 49 % of the tasks can be solved",
        TODAY,
        "8005bfaa",
    ),
    Claim(
        "A price ends most talk on the commons ([commons](../environments/commons.md))",
        "`make evidence-commons`",
        [],
        "1 to 3",
        commons,
        "nothing has to be told there",
        "own, none and 0.01, by pass rate squared",
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
        TODAY,
        "22663c70",
    ),
    Claim(
        "At an equal number of plays, no credit ranks replies clearly better than another "
        "([fidelity](fidelity.md))",
        "`make evidence-fidelity`",
        ["fidelity/sampled"],
        "0",
        partial(faithful, "own", "team", "group", "silence", "shapley", "c3"),
        "one policy, 40 contexts; nothing was trained",
        EACH,
    ),
    Claim(
        "With credit by rank a team says more than by default, and no gain in accuracy is seen"
        " ([credit](../credit.md))",
        "`make evidence-rank`",
        ["rank/runs"],
        "0 to 2",
        by_rank,
        "20 updates of 8 tasks, 200 evaluation tasks, one start",
        MIXED,
    ),
    Claim(
        "C3 loses accuracy at the default price, and not at a third ([fidelity](fidelity.md))",
        "`make evidence-fidelity`",
        [f"fidelity/{run}_{seed}" for run in SHORT_TRAININGS for seed in SHORT_SEEDS],
        "0 to 2",
        short_trained,
        "3 updates of the shipped policy",
        TEAM,
    ),
    Claim(
        "Trained under a price, a team passes an error on in fewer tokens; no drop in adopters is "
        "seen ([faults](../faults.md))",
        "`make evidence-faults SEEDS='0 1'`",
        ["faults/runs"],
        "0 and 1",
        spread,
        "60 tasks; trained for another team",
        "own, none and 0.06, by pass rate squared",
    ),
    Claim(
        "Telling once what one sees costs less than a plan every step"
        " ([boxnet](../environments/boxnet.md))",
        "`make evidence-boxnet`",
        [],
        "0 (grids)",
        schemes,
        "scripts that plan alike; no model",
        "no price",
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
        GATED,
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
        "task reward less 0.01 for each token read",
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
        "no price",
    ),
    Claim(
        "A comment that it reads in hindsight makes a policy brief without a price; two seeds of "
        "three lose more than a point ([sdpo](../sdpo.md))",
        "`make evidence-hindsight`",
        [],
        "0 to 2",
        partial(hindsight, "mean"),
        "one start, taught to obey the comment; ten more updates undo it",
        "no price",
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
        "listeners, 0.06, by pass rate squared",
        "68bfceec",
    ),
)
