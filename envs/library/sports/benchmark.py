"""Sports Understanding: is a sentence about an athlete plausible? Real rows and generated ones.

Rows are `{"input", "target"}` as in BIG-bench Hard, where the target is `yes` or `no`. They have no
facts, so all agents read only the question in both information modes. Generated sentences are about
invented athletes and have facts that split information deals among the scouts. A critic makes sense
under full information, with a schedule such as `[solver, critic, solver]`.

Sources: BIG-bench (arXiv:2206.04615); Suzgun et al., "Challenging BIG-Bench Tasks and Whether
Chain-of-Thought Can Solve Them" (arXiv:2210.09261).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from laconic.envs.benchmarks.base import SPLIT, ShortAnswers, priced
from laconic.envs.benchmarks.sources import Row, field, filled
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.families.yes_no.answers import answer_in, commitment
from laconic.envs.library.sports.generate import generate
from laconic.envs.task import Task


class Sports(ShortAnswers):
    """Sentences about athletes that are plausible (yes) or not (no); `implausible` means no.

    Sources are JSON Lines, `sports_understanding.json` or `hub:<id>`; none are for training.
    Settings of `generate`: `level`, joins of facts, 1 to 3; `distractors`, statements that do not
    matter (`envs.library.sports.generate`).
    """

    name = "sports"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=15)
    defaults = {
        **SPLIT,
        **priced(14),
        "team": {"solver": 1, "scout": 3},
        "schedule": ["scout", "solver"],
        "generator": {"level": 1, "distractors": 1},
    }
    chance = 0.5
    roles = ("solver", "scout", "critic")
    goal = (
        "Your team judges together whether a sentence about an athlete is plausible: whether what"
        " the athlete is said to have done belongs to the athlete's sport. The facts may be"
        " spread over the team, and some may not matter."
    )
    answer_form = "State the answer as `#### yes` (plausible) or `#### no`."
    duties = {
        "solver": "You give the answer: put together what you know and what the others tell you."
        f" {answer_form}",
        "scout": "You tell the solver, who may not know what you know, the facts about the"
        " athlete and the action of the sentence, in few words, and leave out all others.",
        "critic": "You check the solver: name what is wrong or missing, in few words, and say"
        f" nothing when all is right. {answer_form}",
    }

    hints = {
        "solver": "Does what is said belong to the athlete's sport? Write only the answer, after"
        " ####. If it does, write: #### yes. If it does not, write: #### no",
        "scout": "Say again, in one short sentence, the fact that you know.",
        "critic": "If the answer is wrong, say in one short sentence what is wrong.",
    }
    documents = {"evaluation": ("sports_understanding.json",)}
    generator = staticmethod(generate)
    answer_in = staticmethod(partial(answer_in, plausible=True))
    commitment = staticmethod(partial(commitment, plausible=True))

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row: a sentence in `input`, and yes or no in `target`."""
        question, target = field(row, "input", where).strip(), field(row, "target", where)
        answer = target.strip().lower()
        if filled(question, "input", where) and answer not in ("yes", "no"):
            raise SourceError(
                f"{where}: expected field 'target' to be 'yes' or 'no'; got {target[:80]!r}"
            )
        return Task(key, question, (), answer)


BENCHMARK = Sports()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
