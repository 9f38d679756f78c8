"""Writes the tables of docs/results/ from the rows beside this file: make evidence-tables.

A page names a table by `<!-- rows: NAME -->`; the table follows after an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from figures import (
    Cells,
    at_one_rate,
    benchmarked,
    controls,
    each_from_its_start,
    exact_fidelity,
    needed,
    needed_others,
    ruled,
    scored,
    series,
    trained,
)
from ledger import ledger
from rows import HERE

PAGES = HERE.parent / "results"
FORMS = {
    "start": "start",
    "trained": "trained",
    "capped": "start under a cap",
    "single": "one agent reads everything",
    "self_consistency": "the same, sampled (self-consistency)",
    "debate": "debate of three that read everything",
    "team": "team of the policy of all forms",
    "revise": "one answer, revised by another agent",
}
COMPARED = {
    "gsm8k, level 1": ("gsm8k_level1/comparison", "seed_1"),
    "Sports Understanding": ("sports/comparison", "seed_1"),
    "mathematics, third start": ("math/third_start_comparison", "seed_4"),
}
HARDER = {
    "levels 1 to 3": ("gsm8k_harder/comparison", "seed_4"),
    "StrategyQA": ("strategyqa/comparison", "seed_1"),
    "GSM8K": ("gsm8k_rows/comparison", "seed_1"),
}
LEVELS = "gsm8k_harder"

TABLES: Mapping[str, Callable[[], list[Cells]]] = {
    "ledger": partial(ledger, former=False),
    "former": partial(ledger, former=True),
    "needed": needed,
    "needed_others": needed_others,
    "benchmark": benchmarked,
    "quickstart": partial(ruled, "strong", "weak", "signal", "math", "humaneval", "mbpp"),
    "gsm8k": partial(
        trained,
        "gsm8k_level1/default_start_evaluation",
        series("gsm8k_level1", "default", 1, 2, 3),
        {"seed 1 at price 0": "gsm8k_level1/free_1_evaluation"},
    ),
    "controls": partial(controls, COMPARED, FORMS),
    "controls_harder": partial(
        controls,
        HARDER,
        {name: FORMS[name] for name in ("start", "trained", "single", "debate", "team")},
    ),
    "exact_fidelity": exact_fidelity,
    "one_rate": partial(
        at_one_rate,
        {
            "gspo": "none",
            "price 0": "none",
            "team": "none",
            "silence": "none",
            "shapley": "none",
            "c3": "none",
            "grpo": "group",
            "dr_grpo": "none",
            "dr_mas": "group, per agent",
            "mc_grpo": "median deviation",
            "agent_gspo": "group",
            "magrpo": "none",
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
