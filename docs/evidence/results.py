"""Writes the tables of docs/results/ from the rows beside this file: make evidence-tables.

A page names a table by `<!-- rows: NAME -->`; the table follows after an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from figures import (
    SOLVERS,
    USUAL,
    Cells,
    balance,
    controls,
    each_from_its_start,
    facts,
    fidelity,
    quick,
    real,
    remedies,
    sampled,
    scored,
    series,
    short,
    short_trainings,
    told,
    trained,
)
from ledger import ledger
from rows import HERE

PAGES = HERE.parent / "results"
QUICK = ("power 2, price 3", "power 2, price 2", "power 1, price 2")
WITHOUT = {f"without_helper_{n}": f"without what helper {n} says" for n in range(3)}
ALONE = {
    "single": "one agent that reads everything",
    "self_consistency": "the same, sampled (self-consistency)",
    "debate": "debate of three that read everything",
    "team": "team of the policy that was taught all these forms",
}
BELOW = {
    "capped": "start under a hard cap of the first team's tokens",
    "pruned": "start without what helper 2 says",
}
THIRD = "math/third_start_evaluation"
LEVELS = "gsm8k_harder"


def seeds(*numbers: int) -> dict[str, str]:
    """Return entries of a comparison and their labels."""
    return {f"seed_{seed}": f"trained, seed {seed}" for seed in numbers}


TABLES: Mapping[str, Callable[[], list[Cells]]] = {
    "ledger": ledger,
    "quickstart": partial(quick, "strong", QUICK),
    "quickstart_weak": partial(quick, "weak", QUICK),
    "quickstart_weaker": partial(quick, "weaker", QUICK[1:]),
    "gsm8k": partial(
        trained,
        "gsm8k_level1/start_evaluation",
        {**series("gsm8k_level1", "seed", 1, 2, 3)},
    ),
    "gsm8k_apart": partial(
        trained, "gsm8k_level1/apart_start_evaluation", series("gsm8k_level1", "apart", 1, 2, 3)
    ),
    "sports": partial(trained, "sports/start_evaluation", series("sports", "seed", 1, 2, 3)),
    "sports_at_once": partial(
        trained,
        "sports/at_once_start_evaluation",
        series("sports", "at_once", 7, 8, 9),
        SOLVERS,
    ),
    "sports_real": partial(real, "sports/real_rows_at_once_{}_evaluation"),
    "math": partial(trained, "math/start_evaluation", series("math", "seed", 1, 2, 3), SOLVERS),
    "math_third": partial(trained, THIRD, series("math", "third_start_gspo", 3, 4, 5, 6), SOLVERS),
    "fidelity": fidelity,
    "short_trainings": short_trainings,
    "own_best": partial(
        trained,
        THIRD,
        {
            "rate 1e-4, seed 3": "math/third_start_own_best_3_evaluation",
            **{
                f"rate 2e-5, seed {seed}": f"math/third_start_own_best_slow_{seed}_evaluation"
                for seed in (3, 4, 5)
            },
        },
        summary=False,
    ),
    "own_best_rollouts": partial(
        sampled,
        {
            "price, seed 3": "math/third_start_gspo_3",
            "rate 1e-4, seed 3": "math/third_start_own_best_3",
            "rate 2e-5, seed 3": "math/third_start_own_best_slow_3",
            "rate 2e-5, seed 4": "math/third_start_own_best_slow_4",
            "rate 2e-5, seed 5": "math/third_start_own_best_slow_5",
        },
        6,
    ),
    "told": told,
    "remedies": remedies,
    "extinct_starts": partial(
        sampled,
        {
            "second start, own credit, rate 2e-5": "gsm8k_level1/second_start_own",
            "second start, credit of silence, rate 1e-5": (
                "gsm8k_level1/second_start_credit_silence"
            ),
            "third start, own credit, rate 1e-5": "gsm8k_level1/without_balance",
            "the same with silence on balance": "gsm8k_level1/seed_0",
        },
        5,
    ),
    "balance": balance,
    "strategyqa": facts,
    "strategyqa_first": partial(
        sampled,
        {"price 0.5": "strategyqa/price_0.5", "price 0.1": "strategyqa/price_0.1"},
        4,
    ),
    "gsm8k_rows": partial(
        trained,
        "gsm8k_rows/second_start_500_evaluation",
        series("gsm8k_rows", "solved", 1, 2, 3, kind="_500_evaluation"),
        USUAL[:3],
    ),
    "gsm8k_rows_first": partial(
        sampled, {"price 0.5": "gsm8k_rows/price_0.5"}, 1, ("tokens_said", "silence_rate")
    ),
    "small": partial(
        trained,
        "harder/shipped_start_500_evaluation",
        series("harder", "solved", 1, 2, 3, 4, 5),
        SOLVERS,
    ),
    "small_tried": partial(
        sampled,
        {
            "as in the table above, seed 0": "harder/solved_0",
            "a third of the price, 100 updates": "harder/solved_150_0",
            "temperature 0.7, 150 updates": "harder/solved_cool_0",
            "two thirds of the price, balance": "harder/solved_75_0",
            "rate 3e-4": "harder/solved_fast_0",
            "rate 2e-4, a third of the price": "harder/solved_150_2e4_0",
            "rate 2e-4, balance": "harder/solved_balance_0",
        },
        20,
    ),
    "small_first": partial(
        sampled,
        {
            "price 0.5": "harder/price_0.5",
            "price 0.1": "harder/price_0.1",
            "`learner/price=accuracy_floor`": "harder/accuracy_floor",
        },
        10,
    ),
    "levels": partial(
        trained,
        f"{LEVELS}/levels_1_to_3_start_500_evaluation",
        series(LEVELS, "levels_1_to_3_solved", 4, 5, 6),
        SOLVERS,
    ),
    "one_rate_credits": partial(
        short,
        {
            "`own` (default)": ("prices", "power 2, price 3", "none"),
            **{f"`{name}`": ("credits", name, "none") for name in ("team", "silence", "shapley")},
        },
    ),
    "one_rate_methods": partial(
        short,
        {
            "`gspo` (default)": ("prices", "power 2, price 3", "none"),
            "`gspo`, length floor 8": ("floors", "length floor 8", "none"),
            "`grpo`": ("methods", "grpo", "group"),
            "`dr_grpo`": ("methods", "dr_grpo", "none"),
            "`dr_mas`": ("methods", "dr_mas", "group, per agent"),
            "`mc_grpo`": ("methods", "mc_grpo", "median deviation"),
            "`agent_gspo`": ("methods", "agent_gspo", "group"),
            "`magrpo`": ("methods", "magrpo", "none"),
        },
    ),
    "levels_default": partial(
        each_from_its_start,
        {
            f"seed {seed}": (
                f"{LEVELS}/default_start_{seed}_evaluation",
                f"{LEVELS}/default_{seed}_evaluation",
            )
            for seed in range(3)
        },
    ),
    "levels_rollouts": partial(
        sampled,
        {
            "always, own credit, level 2 alone, seed 0": f"{LEVELS}/level_2_seed_0",
            "always, own credit, seed 0": f"{LEVELS}/levels_1_to_3_own_0",
            "always, credit of silence, seed 0": f"{LEVELS}/levels_1_to_3_silence_0",
            "always, credit of silence, seed 1": f"{LEVELS}/levels_1_to_3_silence_1",
            "always, own credit, temperature 0.5, seed 1": f"{LEVELS}/levels_1_to_3_cool_1",
            "always, own credit, temperature 0.5, seed 2": f"{LEVELS}/levels_1_to_3_cool_2",
            "solved, own credit, seed 4": f"{LEVELS}/levels_1_to_3_solved_4",
            "solved, own credit, seed 5": f"{LEVELS}/levels_1_to_3_solved_5",
            "solved, own credit, seed 6": f"{LEVELS}/levels_1_to_3_solved_6",
            "solved, credit of silence, seed 4": f"{LEVELS}/levels_1_to_3_solved_silence_4",
            "solved, credit of silence, seed 5": f"{LEVELS}/levels_1_to_3_solved_silence_5",
        },
        5,
    ),
    "levels_silence": partial(
        trained,
        f"{LEVELS}/knows_silence_start_500_evaluation",
        series(LEVELS, "knows_silence", 4, 5, 6),
    ),
    "levels_swap": partial(
        trained,
        f"{LEVELS}/knows_silence_start_500_evaluation",
        {
            "helpers of seed 4": f"{LEVELS}/knows_silence_swap_helpers_4_evaluation",
            "helpers of seed 6": f"{LEVELS}/knows_silence_swap_helpers_6_evaluation",
            "solver of seed 4": f"{LEVELS}/knows_silence_swap_solver_4_evaluation",
        },
        summary=False,
    ),
    "levels_wordings": partial(
        trained,
        f"{LEVELS}/two_wordings_start_500_evaluation",
        series(LEVELS, "two_wordings", 7, 8, 9),
    ),
    "levels_wordy": partial(
        trained, f"{LEVELS}/wordy_start_500_evaluation", series(LEVELS, "wordy", 13, 14, 15)
    ),
    "levels_sums": partial(
        trained,
        f"{LEVELS}/sums_start_500_evaluation",
        {
            "seed 16": f"{LEVELS}/sums_16_after_45_evaluation",
            "seed 18": f"{LEVELS}/sums_18_evaluation",
            "seed 16, 90 updates": f"{LEVELS}/sums_16_evaluation",
        },
        summary=False,
    ),
    "levels_target": partial(
        trained,
        f"{LEVELS}/knows_silence_start_500_evaluation",
        {"target of 60 tokens, seed 0": f"{LEVELS}/target_tokens_0_evaluation"},
        summary=False,
    ),
    "programs_greedy": partial(
        scored,
        "coop_humaneval/best_start_greedy_evaluation",
        series("coop_humaneval", "best", 2, 3, 4, kind="_greedy_evaluation"),
        ("score", "accuracy", "tokens_said"),
    ),
    "programs_sampled": partial(
        scored,
        "coop_humaneval/best_start_sampled_evaluation",
        series("coop_humaneval", "best", 2, 3, 4, kind="_sampled_evaluation"),
        ("score", "accuracy", "tokens_said"),
    ),
    "programs_first": partial(
        scored,
        "coop_humaneval/start_evaluation",
        series("coop_humaneval", "seed", 1, 2, 3),
        ("score", "accuracy", "tokens_said"),
    ),
    "summaries": partial(
        scored,
        "tldr/start_evaluation",
        series("tldr", "seed", 2, 3, 4),
        ("score", "accuracy", "tokens_said"),
    ),
    "controls_gsm8k": partial(
        controls, "gsm8k_level1", {"start": "start", **seeds(1, 2), **BELOW, **ALONE}
    ),
    "controls_sports": partial(
        controls, "sports", {"start": "start", **seeds(1, 7, 8), **BELOW, **ALONE}
    ),
    "controls_math": partial(
        controls,
        "math",
        {
            "start": "second start",
            "gspo": "trained, own credit at 0.5",
            "silence_2": "trained, credit of silence at 2",
            **BELOW,
            **ALONE,
        },
    ),
    "controls_math_third": partial(
        controls,
        "math",
        {
            "start": "third start",
            **seeds(4, 5, 6),
            "capped": BELOW["capped"],
            **ALONE,
            "revise": "one agent's answer, revised by another",
            "scaffold": "the same over a blank draft",
        },
        "third_start_",
    ),
    "controls_without": partial(controls, "math", {"team": "third start", **WITHOUT}, "pruned_"),
    "controls_levels": partial(
        controls, LEVELS, {"start": "start", **seeds(4, 5, 6), **BELOW, **ALONE}
    ),
    "controls_strategyqa": partial(
        controls, "strategyqa", {"start": "start", **seeds(1, 2, 3), **BELOW, **ALONE}
    ),
    "controls_gsm8k_rows": partial(
        controls, "gsm8k_rows", {"start": "start", **seeds(1, 2, 3), **BELOW, **ALONE}
    ),
}
"""Table -> its rows, the head first."""
MARK = re.compile(r"(<!-- rows: (\w+) -->\n\n)(?:\|.*\n)*\n*")


def markdown(lines: Sequence[Cells]) -> str:
    """Return a table in Markdown."""
    rule = ["---"] * len(lines[0])
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], rule, *lines[1:]])


def render(page: str) -> str:
    """Return a page with the tables that its rows give."""
    return MARK.sub(lambda mark: f"{mark[1]}{markdown(TABLES[mark[2]]())}\n", page).rstrip() + "\n"


def main() -> None:
    """Write the tables of all pages anew."""
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(render(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
