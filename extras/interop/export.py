"""Export the episodes of an evaluation to files that other programs read.

    laconic evaluate evaluation.tokens=true hydra.run.dir=outputs/mine
    laconic export outputs/mine
    laconic export outputs/mine format=trace

`chat` is chat JSON Lines (`laconic.extras.interop.chat`), one conversation a line; `laconic import`
reads it back without a loss. `trace` is one orchestration trace a line, in the schema of arXiv
2605.02801 (`laconic.extras.interop.traces`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.folder import write_atomically
from laconic.extras.interop.chat import recorded_episodes, write_chat
from laconic.extras.interop.traces import trace
from laconic.learners.commands import command

FORMATS = ("chat", "trace")
ARGUMENTS = {
    "run": Argument("folder of an evaluation", Path, placed=True, needed=True),
    "format": Argument("chat or trace; default: chat", default="chat"),
    "to": Argument("file; default: <format>.jsonl in the folder", Path),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the evaluation that the command line names."""
    options = read_arguments("export", __doc__, arguments, ARGUMENTS)
    if options.format not in FORMATS:
        refuse(f"expected format={' or format='.join(FORMATS)}; got format={options.format}")
    path = options.to or options.run / f"{options.format}.jsonl"
    try:
        episodes = recorded_episodes(options.run)
        if options.format == "chat":
            count = write_chat(path, episodes)
        else:
            lines = [json.dumps(trace(each, place)) for place, each in enumerate(episodes)]
            write_atomically(path, "".join(f"{line}\n" for line in lines))
            count = len(lines)
    except (SettingError, OSError) as error:
        echo_error(f"error: {error}")
        sys.exit(1)
    echo(f"{len(episodes)} episodes, {count} lines, written to {path}")
    turns = [turn for each in episodes for turn in each.episode.turns]
    if options.format == "chat" and not any(turn.reply_ids for turn in turns):
        recording = command("evaluate", **{"evaluation.tokens": True})
        echo(f"they have no token ids; {recording} records them")


if __name__ == "__main__":
    main()
