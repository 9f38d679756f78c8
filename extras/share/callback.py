"""Write the model card of a training when it ends; `conf/hook/train.yaml` names the class."""

from __future__ import annotations

from functools import partial

from laconic.experiments.command_line.echo import echo
from laconic.experiments.session.training_run import Callback, TrainingRun


class Card(Callback):
    """Writes the model card beside the policies."""

    def on_end(self, run: TrainingRun) -> None:
        """Write it for a run that ended in order."""
        if run.error is None:
            run.processes.main(partial(self._write, run))

    def _write(self, run: TrainingRun) -> None:
        # Late, because a callback is looked at before every training.
        from laconic.experiments.run_folder.runs import read_run
        from laconic.extras.share.card import write_card

        try:
            write_card(read_run(run.folder.path), run.policies)
        except Exception as error:  # The weights are saved, so unusual settings must not fail here.
            echo(f"there is no model card: {type(error).__name__}: {error}")
