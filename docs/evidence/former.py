"""Experiments under the former price: the table of docs/results/former_price.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from figures import PERCENT, USUAL, Cells, extinct, number, over_seeds, percent, plain
from rows import intervals, table, updates
from values import change, each, worth

LEVELS = "gsm8k_harder/"
THIRD = "math/third_start"
ENDS = ("low", "high")
WORLDS = {
    "gsm8k": "told/gsm8k",
    "levels 1 to 3": "told/gsm8k_harder",
    "Sports": "told/sports",
    "mathematics": "math/told",
    "StrategyQA": "told/strategyqa",
    "GSM8K": "told/gsm8k_rows",
}
"""World -> its comparison of a team and the same told to be brief."""
REMEDIES = {
    "none": "nothing",
    "balance": "silence on balance",
    "silence": "with it credit `silence`",
    "shapley": "credit `shapley`",
    "accuracy_floor": "no price until 90 % are solved",
    "ramp": "a rising price",
    "epsilon": "`eps=1e-4`",
    "apart": "a start that tells silences apart",
}
"""Run of the folder `extinction` -> its remedy; all but the first balance silence."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One row of the table."""

    asked: str
    """Question, and when a token was charged."""
    seen: Sequence[Callable[[], str]]
    """What was measured, one line each."""
    today: str
    """Page with figures at today's price, or that there are none."""
    limits: str
    """What the figures do not show."""


def course(label: str, start: str, run: str, *numbers: int) -> str:
    """Return accuracy, tokens and silence before and after training, with t-intervals over seeds.

    Args:
        label: start and seeds.
        start: file of the evaluation of the start, without its ending.
        run: file of a training, with `{}` for the seed.
        numbers: seeds.
    """
    first = intervals(f"{start}_evaluation")
    after = [intervals(f"{run.format(seed)}_evaluation") for seed in numbers]
    before = {name: plain(name, first[name]["mean"]) for name in USUAL[:3]}
    means = {name: over_seeds([row[name]["mean"] for row in after]) for name in USUAL[:3]}
    now = {name: percent(mean) if name in PERCENT else number(mean) for name, mean in means.items()}
    accuracy, tokens, silent = USUAL[:3]
    return (
        f"**{label}** {before[accuracy]} in {before[tokens]}, then {now[accuracy]} in "
        f"{now[tokens]}; silent {before[silent]}, then {now[silent]}"
    )


def single(label: str, run: str) -> str:
    """Return accuracy and tokens of one evaluation, with intervals over tasks."""
    figures = intervals(f"{run}_evaluation")
    return f"**{label}** {percent(figures['accuracy'])} in {number(figures['tokens_said'])}"


def stopped(label: str, run: str, metric: str = "accuracy") -> str:
    """Return a metric of the last update of one training, and the number of its updates."""
    rows = updates(run)
    return f"**{label}** {100 * rows[-1][f'train/{metric}']:.0f} % in update {len(rows)}"


def word_for_word() -> str:
    """Return how often StrategyQA's helpers said their useful facts word for word."""
    start, *trained = (
        percent({"mean": float(row["facts_told"]), **{end: float(row[end]) for end in ENDS}})
        for row in table("facts_told")
    )
    return f"**useful facts said word for word** {start}, then {', '.join(trained)}"


def brief() -> str:
    """Return what telling a team to be brief changes in six worlds, with intervals over tasks."""
    tokens, solved = [], []
    for world, name in WORLDS.items():
        pair = table(f"{name}_coordination")[1]
        gain, ratio = (
            {"mean": float(pair[key]), **{end: float(pair[f"{key}_{end}"]) for end in ENDS}}
            for key in ("gain", "tokens_ratio")
        )
        tokens.append(f"{world} {number(ratio, 3)}")
        solved.append(number({end: 100 * share for end, share in gain.items()}))
    return f"**of the tokens** {'; '.join(tokens)}<br>**points** {'; '.join(solved)}"


def remedies() -> str:
    """Return the silence with nothing useful in updates 4 to 6, one share per seed."""
    parts = []
    for run, label in REMEDIES.items():
        rows = [updates(f"extinction/{run}_{seed}") for seed in (1, 2, 3)]
        parts.append(f"{label} {extinct(rows, USUAL[2], 3, 6)}")
    return "; ".join(parts)


def balanced() -> str:
    """Return greedy silence with nothing useful after 20 updates, each seed with its interval."""
    runs = {
        how: each(USUAL[2], *(f"math/balance_{how}_{seed}_evaluation" for seed in (2, 3, 4)))
        for how in ("with", "without")
    }
    texts = (f"{how} balance {shares.replace('; ', ', ')}" for how, shares in runs.items())
    return "; ".join(texts)


def lossy_channel() -> str:
    """Return the least and the most that teams solve over a lossy channel, by price."""
    parts = []
    for price in ("0.5", "0.2"):
        solved = [
            100 * float(row["accuracy"])
            for row in table("channel/former")
            if (row["price"], row["trained_lose"], row["played_lose"]) == (price, "0.3", "0.3")
        ]
        parts.append(
            f"at price {price} {min(solved):.0f} to {max(solved):.0f} % of {len(solved)} teams"
        )
    return f"**solved at a loss of 0.3** {'; '.join(parts)}"


def commons() -> str:
    """Return gain and tokens of the commons after training, by price."""
    parts = []
    for price in ("0", "0.5", "2"):
        group = [
            row
            for row in table("commons/former")
            if (row["credit"], row["price"], row["updates"]) == ("team", price, "12")
        ]
        gains = over_seeds([float(row["gain"]) for row in group])
        words = over_seeds([float(row["tokens_said"]) for row in group])["mean"]
        parts.append(f"at price {price} {number(gains)} in {words:.0f} tokens")
    return f"**gain, seeds 0 to 4** {'; '.join(parts)}"


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        "Does SmolLM2 learn to say half as much on gsm8k, level 1? Charged always",
        (
            partial(
                course,
                "start in three parts, seeds 1 to 3",
                "gsm8k_level1/start",
                "gsm8k_level1/seed_{}",
                *(1, 2, 3),
            ),
            partial(
                course,
                "start in one part, seeds 1 to 3",
                "gsm8k_level1/apart_start",
                "gsm8k_level1/apart_{}",
                *(1, 2, 3),
            ),
        ),
        "[gsm8k](gsm8k.md)",
        "Settings were chosen on seed 0 of the first start.",
    ),
    Experiment(
        "Does this recipe carry over to Sports Understanding? Charged always",
        (
            partial(course, "seeds 1 to 3", "sports/start", "sports/seed_{}", 1, 2, 3),
            partial(
                course,
                "a start that answers at once, seeds 7 to 9",
                "sports/at_once_start",
                "sports/at_once_{}",
                *(7, 8, 9),
            ),
            partial(single, "seed 7 on real sentences", "sports/real_rows_at_once_7"),
        ),
        "[three minutes](../starts.md) of `sports`",
        "On real sentences it guesses: it answers no.",
    ),
    Experiment(
        "Does a weaker team also solve more on mathematics? Charged always",
        (
            partial(course, "seeds 1 to 3", "math/start", "math/seed_{}", 1, 2, 3),
            partial(course, "third start, seeds 3 to 6", THIRD, f"{THIRD}_gspo_{{}}", 3, 4, 5, 6),
        ),
        "[three minutes](../starts.md) of `math`",
        "The starts had not learned all sums.",
    ),
    Experiment(
        "Does imitating the shortest solved episode of a group do as well? No price",
        (
            partial(
                course,
                "third start, seeds 3 to 5",
                THIRD,
                f"{THIRD}_own_best_slow_{{}}",
                *(3, 4, 5),
            ),
            partial(single, "at five times the rate, seed 3", f"{THIRD}_own_best_3"),
        ),
        "none",
        "Seed 4 solves less than its start: helpers leave facts out. Rate chosen on seed 3.",
    ),
    Experiment(
        "Does a team that solves half of levels 1 to 3 keep talking? Charged always",
        (
            partial(stopped, "solved, seed 0", f"{LEVELS}levels_1_to_3_own_0"),
            partial(
                stopped,
                "solved under credit `silence`, a quarter of the price",
                f"{LEVELS}levels_1_to_3_silence_0",
            ),
        ),
        "[default price](levels_default.md): it keeps talking",
        "One seed each, stopped by hand.",
    ),
    Experiment(
        "The same, charged in solved episodes, from five starts",
        (
            partial(
                course,
                "first start, seeds 4 to 6",
                f"{LEVELS}levels_1_to_3_start_500",
                f"{LEVELS}levels_1_to_3_solved_{{}}",
                *(4, 5, 6),
            ),
            partial(
                course,
                "knows silence, seeds 4 to 6",
                f"{LEVELS}knows_silence_start_500",
                f"{LEVELS}knows_silence_{{}}",
                *(4, 5, 6),
            ),
            partial(
                course,
                "two wordings, seeds 7 to 9",
                f"{LEVELS}two_wordings_start_500",
                f"{LEVELS}two_wordings_{{}}",
                *(7, 8, 9),
            ),
            partial(
                course,
                "wordy, seeds 13 to 15",
                f"{LEVELS}wordy_start_500",
                f"{LEVELS}wordy_{{}}",
                *(13, 14, 15),
            ),
            partial(single, "calculates at once, start", f"{LEVELS}sums_start_500"),
            partial(single, "seed 16", f"{LEVELS}sums_16_after_45"),
            partial(single, "seed 18", f"{LEVELS}sums_18"),
            partial(single, "seed 16, 90 updates", f"{LEVELS}sums_16"),
            partial(
                single, "a target of 60 tokens, knows silence, seed 0", f"{LEVELS}target_tokens_0"
            ),
        ),
        "[default price](levels_default.md), a weaker start",
        "No start keeps accuracy and halves its tokens. Starts differ in several things.",
    ),
    Experiment(
        "Does a small policy that solves little on levels 2 and 3 keep talking? Charged always",
        (
            partial(stopped, "solved at price 0.5, seed 0", "harder/price_0.5"),
            partial(stopped, "at 0.1", "harder/price_0.1"),
            partial(
                stopped,
                "silent with nothing useful, `learner/price=accuracy_floor`",
                "harder/accuracy_floor",
                "silent_if_uninformed",
            ),
        ),
        "[quickstart](quickstart.md), weak start: it keeps talking",
        "One seed each.",
    ),
    Experiment(
        "The same from a better start, charged in solved episodes",
        (
            partial(
                course,
                "seeds 1 to 5",
                "harder/shipped_start_500",
                "harder/solved_{}",
                *(1, 2, 3, 4, 5),
            ),
        ),
        "[quickstart](quickstart.md), weak start",
        "Greedy. Sampled, it solves as many as before.",
    ),
    Experiment(
        "What does a price teach on StrategyQA's public rows? Charged always, then in solved "
        "episodes",
        (
            partial(stopped, "solved at price 0.5, seed 1", "strategyqa/price_0.5"),
            partial(
                stopped,
                "silent at price 0.1",
                "strategyqa/price_0.1",
                "silent_if_uninformed",
            ),
            partial(single, "in solved episodes, start", "strategyqa/second_start"),
            partial(single, "seed 1", "strategyqa/solved_1"),
            partial(
                course,
                "a start with bare answers, seeds 1 to 3",
                "strategyqa/bare_start",
                "strategyqa/bare_{}",
                *(1, 2, 3),
            ),
            word_for_word,
            lambda: f"**worth of a message of seed 2** {worth('strategyqa/bare_2_demand')} tasks",
        ),
        "generated rows: [three minutes](../starts.md) of `strategyqa`",
        'Two seeds pass every [bar](gsm8k.md) by always answering "no".',
    ),
    Experiment(
        "The same on GSM8K's own problems",
        (
            partial(
                stopped, "silent turns, always, seed 1", "gsm8k_rows/price_0.5", "silence_rate"
            ),
            lambda: (
                "**in solved episodes, seeds 1 to 3** "
                + change(
                    "gsm8k_rows/second_start_500_evaluation",
                    *(f"gsm8k_rows/solved_{seed}_500_evaluation" for seed in (1, 2, 3)),
                )
            ),
        ),
        "none",
        "Eight groups of ten solve nothing. 10 updates.",
    ),
    Experiment(
        "Silence dies out while informed helpers learn to speak. What keeps it? Charged always",
        (
            lambda: "**silent, gsm8k, sampled, updates 4 to 6, seeds 1 to 3** " + remedies(),
            lambda: f"**mathematics, greedy, update 20, seeds 2 to 4** {balanced()}",
        ),
        "none; [what it does](../economy.md#silence)",
        "Six updates do not decide it: over 45 silence often comes back by itself.",
    ),
    Experiment(
        "Does telling a team in words to be brief do what a price does? No price",
        (brief,),
        "none",
        "One wording, one team per world, taught by a wordy teacher.",
    ),
    Experiment(
        "Does a team keep talking over a lossy channel? Charged always",
        (lossy_channel,),
        "[default price](../channel.md): it keeps talking",
        "Half of the tasks can be solved at this loss.",
    ),
    Experiment(
        "Does a price end talk on the commons? Charged always, credit `team`",
        (commons,),
        "[default price](../environments/commons.md)",
        "Nothing has to be told there. 12 updates.",
    ),
)


def experiments() -> list[Cells]:
    """Return one row per experiment, the head first."""
    lines = [["asked", "seen, 95 % intervals", "today", "limits"]]
    for experiment in EXPERIMENTS:
        seen = "<br>".join(line() for line in experiment.seen)
        lines.append([experiment.asked, seen, experiment.today, experiment.limits])
    return lines
