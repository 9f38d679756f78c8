"""What a user measures after an evaluation, and of the entries of a comparison."""

from laconic.experiments.session.evaluation import Findings
from laconic.extras.compare.columns import PlayedEntry
from laconic.learners.metrics import Interval


class Longest:
    """The most tokens of a message, as a figure."""

    def __init__(self, at_least=0):
        self.at_least = at_least

    def begin(self, environment):
        return {"agents": len(environment.possible_agents)}

    def __call__(self, evaluation):
        assert not isinstance(evaluation, PlayedEntry) or evaluation.entry.name
        tokens = [turn.tokens_said for each in evaluation.episodes for turn in each.turns]
        most = float(max([self.at_least, *tokens]))
        return Findings(figures={"longest_message": Interval(most, most, most, len(tokens))})

    def finish(self, folder, names):
        (folder / "longest.txt").write_text(" ".join(names))


def count_episodes(evaluation, prefix="mine"):
    """Return a metric under a name of its own, and write rows to a file of its own."""
    evaluation.folder.append_row(f"{prefix}.jsonl", {"step": evaluation.step})
    count = float(len(evaluation.episodes))
    return Findings(metrics={f"{prefix}/episodes": count}, facts={prefix: "noted"})
