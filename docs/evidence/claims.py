"""Claims of the ledger, docs/results/index.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from figures import SHORT_SEEDS, SHORT_TRAININGS, USUAL
from rows import seeds
from values import (
    change,
    change_of_each,
    channel,
    commons,
    crossed,
    demanded,
    each,
    entries,
    faithful,
    last,
    quick,
    remedied,
    schemes,
    scores,
    short,
    short_trained,
    spread,
    three_minutes,
    told,
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
THIRD = "math/third_start_evaluation"
GSM8K = seeds("gsm8k_level1/seed_{}", 1, 2, 3)
APART = seeds("gsm8k_level1/apart_{}", 1, 2, 3)
SPORTS = seeds("sports/seed_{}", 1, 2, 3)
ONCE = seeds("sports/at_once_{}", 7, 8, 9)
MATH = seeds("math/seed_{}", 1, 2, 3)
MATH_THIRD = seeds("math/third_start_gspo_{}", 3, 4, 5, 6)
OWN_BEST = seeds("math/third_start_own_best_slow_{}", 3, 4, 5)
SOLVED = seeds(f"{LEVELS}levels_1_to_3_solved_{{}}", 4, 5, 6)
SILENCE = seeds(f"{LEVELS}knows_silence_{{}}", 4, 5, 6)
WORDINGS = seeds(f"{LEVELS}two_wordings_{{}}", 7, 8, 9)
WORDY = seeds(f"{LEVELS}wordy_{{}}", 13, 14, 15)
SUMS = [f"{LEVELS}sums_16_after_45_evaluation", f"{LEVELS}sums_18_evaluation"]
SMALL = seeds("harder/solved_{}", 1, 2, 3, 4, 5)
ROWS = seeds("gsm8k_rows/solved_{}", 1, 2, 3, kind="_500_evaluation")
BARE = seeds("strategyqa/bare_{}", 1, 2, 3)
PROGRAMS = "coop_humaneval/best_{}"
FORMER = "own, 0.01, always"
SOLVED_ONLY = "own, 0.01, solved episodes"
TODAY = "own, 0.06, by pass rate squared"
MIXED = "each credit, 0.06, by pass rate squared"
EACH = "each credit, 0.06; nothing is trained"
TEAM = "own and team, 0.06, or team, 0.02; by pass rate squared"
PRICES = "own, price / 50, by pass rate squared"
GUESSED = "own, 0.06 or 0.02, by pass rate squared"
PRESENT = (TODAY, MIXED, EACH, TEAM, PRICES, GUESSED)
"""Rates of claims under today's price."""

CLAIMS: Sequence[Claim] = (
    Claim(
        "The shipped team says half as much and solves as many ([quickstart](quickstart.md))",
        "`laconic train -m seed=0,1,2,3,4 threads=1`",
        [],
        "0 to 4",
        partial(quick, "strong"),
        "0.7 M parameters, easiest level",
        TODAY,
        "82e0b19f",
    ),
    Claim(
        "From a weak start the same training keeps accuracy ([quickstart](quickstart.md))",
        "`make evidence-price`",
        [],
        "0 to 4",
        partial(quick, "weak"),
        "five seeds vary widely",
        TODAY,
        "82e0b19f",
    ),
    Claim(
        "Three minutes halve the tokens of five shipped policies at no loss "
        "([starts](../starts.md))",
        "`make evidence-three-minutes`",
        [],
        "1 to 3",
        partial(
            three_minutes,
            *("gsm8k", "math", "mbpp", "sports", "strategyqa"),
            *("humaneval", "checkmate", "signal"),
        ),
        "generated tasks",
        GUESSED,
        "4cf57b59, b39e4b28, b1941621",
    ),
    Claim(
        "At one price for every token Shapley's credit says least at no loss, and centering at "
        "the median falls silent ([one rate](one_rate.md))",
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
        "SmolLM2 says half as much, and no loss of accuracy is seen ([gsm8k](gsm8k.md))",
        "`make evidence-gsm8k`",
        [],
        "1 to 3",
        partial(change, "gsm8k_level1/start_evaluation", *GSM8K),
        "easiest level, one start",
        FORMER,
        "3ff3ca3d",
    ),
    Claim(
        "The same from a start in one part ([gsm8k](gsm8k.md))",
        "`make evidence-gsm8k FROM=apart`",
        seeds("gsm8k_level1/apart_{}", 1, 2, 3, kind=""),
        "1 to 3",
        partial(change, "gsm8k_level1/apart_start_evaluation", *APART),
        "half of the tokens missed by two seeds",
        FORMER,
    ),
    Claim(
        "A hard cap of the trained team's tokens solves nothing; one agent that reads "
        "everything solves more ([controls](controls.md))",
        "`make evidence-gsm8k-controls SEEDS='1 2'`",
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
        "On Sports Understanding tokens fall at no loss ([sports](sports.md))",
        "`make evidence-sports FROM=start`",
        [],
        "1 to 3",
        partial(change, "sports/start_evaluation", *SPORTS),
        "half of the tokens by one seed of three",
        FORMER,
        "8ce4a9c0",
    ),
    Claim(
        "From a start that answers at once every bar is met ([sports](sports.md))",
        "`make evidence-sports SEEDS='7 8 9'`",
        seeds("sports/at_once_{}", 7, 8, kind=""),
        "7 to 9",
        partial(change, "sports/at_once_start_evaluation", *ONCE),
        "the fewest tokens for facts as given",
        FORMER,
    ),
    Claim(
        "On mathematics teams solve more in half of the tokens ([math](math.md))",
        "`make evidence-math`",
        [],
        "1 to 3",
        partial(change, "math/start_evaluation", *MATH),
        "a weak start; two seeds miss half",
        FORMER,
        "b561106a",
    ),
    Claim(
        "From a start made anew every bar is met ([math](math.md))",
        "`make evidence-math SEEDS='3 4 5 6' UPDATES=36`",
        seeds("math/third_start_gspo_{}", 3, 4, 5, 6, kind=""),
        "3 to 6",
        partial(change, THIRD, *MATH_THIRD),
        "generated algebra and geometry of level 1",
        FORMER,
    ),
    Claim(
        "Imitating the shortest solved episodes comes near, with one seed of three below its "
        "start ([own best](own_best.md))",
        "`make evidence-own-best SEEDS='3 4 5'`",
        seeds("math/third_start_own_best_slow_{}", 3, 4, 5, kind=""),
        "3 to 5",
        partial(change, THIRD, *OWN_BEST),
        "rate chosen on seed 3",
        "no price",
    ),
    Claim(
        "Teams told in words to be brief say about as much ([told](told.md))",
        "`make evidence-told evidence-told-math`",
        ["told/instructed", "math/instructed"],
        "0 to 3, one team each",
        told,
        "one wording; taught by a wordy teacher",
        "no price",
    ),
    Claim(
        "Without silence on balance silence dies out; with it a part stays "
        "([extinction](extinction.md))",
        "`make evidence-extinction`",
        seeds("extinction/none_{}", 1, 2, 3, kind=""),
        "1 to 3",
        partial(remedied, "none", "balance"),
        "six updates, sampled",
        FORMER,
    ),
    Claim(
        "Silence on balance keeps silence from falling as far ([extinction](extinction.md))",
        "`make evidence-balance SEEDS='2 3 4'`",
        [],
        "2 to 4",
        lambda: (
            f"with: {each(USUAL[2], *seeds('math/balance_with_{}', 2, 3, 4))}; "
            f"without: {each(USUAL[2], *seeds('math/balance_without_{}', 2, 3, 4))}"
        ),
        "20 updates; accuracy differs little",
        FORMER,
        "97d3834a",
    ),
    Claim(
        "On StrategyQA a constant price makes silence spread ([strategyqa](strategyqa.md))",
        "`make evidence-strategyqa-first`",
        [],
        "1",
        lambda: f"solved in the last update: {last('accuracy', 'strategyqa/price_0.5')}",
        "one seed, stopped",
        FORMER,
        "c938c33a",
    ),
    Claim(
        "Charged where solved, StrategyQA's teams learn to guess ([strategyqa](strategyqa.md))",
        "`make evidence-strategyqa`",
        seeds("strategyqa/bare_{}", 1, 2, 3, kind=""),
        "1 to 3",
        lambda: (
            f"{change('strategyqa/bare_start_evaluation', *BARE)}; "
            f"an informed message of seed 2 is worth {worth('strategyqa/bare_2_demand')}"
        ),
        "the facts are not told; two seeds pass every bar by saying no",
        SOLVED_ONLY,
    ),
    Claim(
        "On GSM8K's problems little is solved and little changes ([GSM8K rows](gsm8k_rows.md))",
        "`make evidence-gsm8k-rows`",
        seeds("gsm8k_rows/solved_{}", 1, 2, 3, kind=""),
        "1 to 3",
        partial(change, "gsm8k_rows/second_start_500_evaluation", *ROWS),
        "eight groups of ten have no solution",
        SOLVED_ONLY,
    ),
    Claim(
        "A weak small team collapses under a constant price ([small policy](small.md))",
        "`make evidence-small-first`",
        [],
        "0",
        lambda: (
            f"solved in the last update: {last('accuracy', 'harder/price_0.5')} at 0.5, "
            f"{last('accuracy', 'harder/price_0.1')} at 0.1"
        ),
        "one seed each",
        FORMER,
        "3f5224b0",
    ),
    Claim(
        "Charged where solved it loses three points for a fifth of the words "
        "([small policy](small.md))",
        "`make evidence-small`",
        seeds("harder/solved_{}", 1, 2, 3, 4, 5, kind=""),
        "1 to 5",
        partial(change, "harder/shipped_start_500_evaluation", *SMALL),
        "GSPO with four minibatches",
        SOLVED_ONLY,
    ),
    Claim(
        "On levels 1 to 3 own credit collapses if always charged ([levels](levels.md))",
        "`make evidence-harder FROM=start`",
        [f"{LEVELS}levels_1_to_3_own_0"],
        "0",
        lambda: f"solved in the last update: {last('accuracy', LEVELS + 'levels_1_to_3_own_0')}",
        "stopped after 16 updates; the command charges where solved",
        FORMER,
    ),
    Claim(
        "Charged where solved nothing is lost, and silence is ([levels](levels.md))",
        "`make evidence-harder FROM=start UPDATES=20 SEEDS='4 5 6'`",
        seeds(f"{LEVELS}levels_1_to_3_solved_{{}}", 4, 5, 6, kind=""),
        "4 to 6",
        partial(change, f"{LEVELS}levels_1_to_3_start_500_evaluation", *SOLVED),
        "20 updates",
        SOLVED_ONLY,
    ),
    Claim(
        "A start that knows silence keeps most of it and loses accuracy "
        "([levels: starts](levels_starts.md))",
        "`make evidence-harder FROM=silence SEEDS='4 5 6'`",
        seeds(f"{LEVELS}knows_silence_{{}}", 4, 5, 6, kind=""),
        "4 to 6",
        partial(change, f"{LEVELS}knows_silence_start_500_evaluation", *SILENCE),
        "accuracy and silence miss their bars",
        SOLVED_ONLY,
    ),
    Claim(
        "A start with two wordings loses less and saves less ([levels: starts](levels_starts.md))",
        "`make evidence-harder FROM=wordings SEEDS='7 8 9'`",
        seeds(f"{LEVELS}two_wordings_{{}}", 7, 8, 9, kind=""),
        "7 to 9",
        partial(change, f"{LEVELS}two_wordings_start_500_evaluation", *WORDINGS),
        "tokens miss their bar",
        SOLVED_ONLY,
    ),
    Claim(
        "A wordy start halves its tokens and loses accuracy ([levels: starts](levels_starts.md))",
        "`make evidence-harder FROM=wordy SEEDS='13 14 15'`",
        seeds(f"{LEVELS}wordy_{{}}", 13, 14, 15, kind=""),
        "13 to 15",
        partial(change, f"{LEVELS}wordy_start_500_evaluation", *WORDY),
        "accuracy misses its bar",
        SOLVED_ONLY,
    ),
    Claim(
        "A start that calculates at once loses nothing ([levels: starts](levels_starts.md))",
        "`make evidence-harder FROM=sums SEEDS='16 18'`",
        [f"{LEVELS}sums_16", f"{LEVELS}sums_18"],
        "16, 18",
        partial(change, f"{LEVELS}sums_start_500_evaluation", *SUMS),
        "two seeds; tokens miss their bar",
        SOLVED_ONLY,
    ),
    Claim(
        "MAGRPO improves sampled programs of two authors ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(
            scores,
            PROGRAMS.format("start") + "_sampled_evaluation",
            *seeds(PROGRAMS, 2, 3, 4, kind="_sampled_evaluation"),
        ),
        "score of 4",
        "no price",
    ),
    Claim(
        "It improves no greedy programs ([two authors](two_authors.md))",
        "`make evidence-coop SEEDS='2 3 4'`",
        seeds(PROGRAMS, 2, 3, 4, kind=""),
        "2 to 4",
        partial(
            scores,
            PROGRAMS.format("start") + "_greedy_evaluation",
            *seeds(PROGRAMS, 2, 3, 4, kind="_greedy_evaluation"),
        ),
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
        "Over a lossy channel a high price costs accuracy ([channel](../channel.md))",
        "`make evidence-channel`",
        [],
        "0 to 2",
        channel,
        "half of the tasks can be solved at 0.3",
        "own, 0.01 and 0.004, always",
        "e54520b9",
    ),
    Claim(
        "A price ends talk on the commons ([commons](../environments/commons.md))",
        "`make evidence-commons`",
        [],
        "0 to 4",
        commons,
        "nothing has to be told there",
        "team, price / 50, always",
        "63f567a8",
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
        "In as many plays no credit is seen to rank replies better ([fidelity](fidelity.md))",
        "`make evidence-fidelity`",
        ["fidelity/sampled"],
        "0",
        partial(faithful, "own", "team", "group", "silence", "shapley", "c3"),
        "one policy, 40 contexts; nothing was trained",
        EACH,
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
)
