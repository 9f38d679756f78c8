"""Terminal viewer: a table of episodes, and the selected episode beside it.

The viewer polls the run folder every second. It needs only the files of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Footer, Input, Static, Tab, Tabs

from laconic.envs.dialogue.reward import Reward
from laconic.experiments.run_folder.records import Transcript, TurnRecord
from laconic.extras.report.group_view import COLORINGS, group_of
from laconic.extras.viewer.episodes import Episodes, Filter, Solved, cost, score, verdict
from laconic.extras.viewer.groups import draw

COLUMNS = ("step", "task", "", "score", "tokens", "silent")
SECONDS = 1.0
"""Seconds between two reads of the run folder."""
_AFTER: dict[Solved, Solved] = {"": "solved", "solved": "unsolved", "unsolved": ""}


class Viewer(App[None]):
    """Viewer of the episodes of a run folder."""

    CSS = """
    #state { height: auto; padding: 0 1; background: $boost; }
    #episodes { width: 54; height: 100%; }
    .-narrow #body { layout: vertical; }
    .-narrow #episodes { width: 100%; height: 35%; }
    #words { display: none; }
    #words.shown { display: block; }
    #episode { padding: 0 1; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    BINDINGS = [
        Binding("q", "quit", "quit"),
        Binding("s", "solved", "solved / unsolved / all"),
        Binding("i", "quiet('silent')", "silent"),
        Binding("c", "quiet('collapsed')", "collapsed"),
        Binding("left_square_bracket", "step(-1)", "step before", key_display="["),
        Binding("right_square_bracket", "step(1)", "step after", key_display="]"),
        Binding("v", "view", "next agent's view"),
        Binding("g", "group", "group / color"),
        Binding("f", "follow", "follow"),
        Binding("slash", "search", "search", key_display="/"),
        Binding("escape", "clear", "all", show=False),
    ]

    def __init__(self, folder: Path) -> None:
        """Watch a run folder."""
        super().__init__()
        self.title = f"laconic watch {folder.name}"
        self.episodes = Episodes(folder)
        """Episodes of the run."""
        self.filter = Filter()
        """Filter of the episodes."""
        self.shown: list[Transcript] = []
        """Episodes in the table, in its order."""
        self.follows = False
        """True if each new episode is selected."""
        self.coloring = next(iter(COLORINGS))
        """Coloring of the tokens of a group."""
        self._count = 0
        self._agents: list[str] = []

    def compose(self) -> ComposeResult:
        """Lay out the state of the run above, the table on the left and an episode on the right."""
        yield Static(id="state", markup=False)
        yield Input(
            id="words", placeholder="words to search for; Enter to confirm, Escape to clear"
        )
        with Horizontal(id="body"):
            yield DataTable(id="episodes", cursor_type="row", zebra_stripes=True)
            with Vertical():
                yield Tabs(Tab("conversation", id="all"), Tab("group", id="group"), id="views")
                with VerticalScroll():
                    yield Static(id="episode", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read the episodes and start polling."""
        self.table.add_columns(*COLUMNS)
        self.table.focus()
        self.look()
        self.set_interval(SECONDS, self.look)

    @property
    def table(self) -> DataTable[Text]:
        """Table of episodes."""
        return self.query_one("#episodes", DataTable)

    @property
    def chosen(self) -> Transcript | None:
        """Episode under the cursor; None if there is none."""
        place = self.table.cursor_row
        return self.shown[place] if 0 <= place < len(self.shown) else None

    def look(self) -> None:
        """Show the episodes that were written since the last read."""
        # The timer may fire once more while the app closes.
        if not self.is_running:
            return
        void = self.episodes.refresh()
        new = self.episodes.all[self._count :]
        if void and self._count:
            self._fill()
        else:
            self._add(new)
        self._count = len(self.episodes.all)
        if self.follows and new and self.shown:
            self.table.move_cursor(row=len(self.shown) - 1)
        self._show_state()

    def on_data_table_row_highlighted(self) -> None:
        """Show the episode under the cursor."""
        self._show()

    def on_tabs_tab_activated(self) -> None:
        """Show the selected view."""
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only episodes that contain the typed words."""
        self._filter(replace(self.filter, words=event.value))

    def on_input_submitted(self) -> None:
        """Go back to the table."""
        self.table.focus()

    def action_solved(self) -> None:
        """Show solved episodes, then unsolved ones, then all."""
        self._filter(replace(self.filter, solved=_AFTER[self.filter.solved]))

    def action_quiet(self, kind: str) -> None:
        """Toggle the filter for silence, or that for failure in silence."""
        if kind == "silent":
            self._filter(replace(self.filter, silent=not self.filter.silent))
        else:
            self._filter(replace(self.filter, collapsed=not self.filter.collapsed))

    def action_step(self, by: int) -> None:
        """Show only the previous or next evaluation; beyond both ends all of them."""
        places: list[int | None] = [None, *self.episodes.steps]
        here = places.index(self.filter.step) if self.filter.step in places else 0
        self._filter(replace(self.filter, step=places[(here + by) % len(places)]))

    def action_view(self) -> None:
        """Show the view of the next agent, and after the last one the conversation."""
        tabs = self.query_one(Tabs)
        tabs.action_next_tab()
        if tabs.active == "group":
            tabs.active = "all"

    def action_group(self) -> None:
        """Show the training group of about the same step, and then its next coloring."""
        tabs = self.query_one(Tabs)
        if tabs.active == "group":
            names = [*COLORINGS]
            self.coloring = names[(names.index(self.coloring) + 1) % len(names)]
            self._show()
        tabs.active = "group"

    def action_follow(self) -> None:
        """Start or stop to select each new episode."""
        self.follows = not self.follows
        if self.follows and self.shown:
            self.table.move_cursor(row=len(self.shown) - 1)
        self._show_state()

    def action_search(self) -> None:
        """Open the input of words that episodes must contain."""
        words = self.query_one(Input)
        words.add_class("shown")
        words.focus()

    def action_clear(self) -> None:
        """Show all episodes again."""
        words = self.query_one(Input)
        words.remove_class("shown")
        words.value = ""
        self.table.focus()
        self._filter(Filter())

    def _filter(self, new: Filter) -> None:
        if new != self.filter:
            self.filter = new
            self._fill()
            self._show_state()

    def _fill(self) -> None:
        """Fill the table again; the selected episode stays selected if it is still shown."""
        before = self.chosen
        self.table.clear()
        self.shown = []
        self._add(self.episodes.all)
        if before in self.shown:
            self.table.move_cursor(row=self.shown.index(before))
        self._show()

    def _add(self, episodes: list[Transcript]) -> None:
        for episode in filter(self.filter.admits, episodes):
            self.shown.append(episode)
            silent = sum(not turn.text for turn in episode.messages)
            color = {True: "green", False: "red", None: "yellow"}[episode.solved]
            tokens = "" if episode.tokens_said is None else str(episode.tokens_said)
            cells = [
                str(episode.step),
                episode.task,
                verdict(episode),
                score(episode),
                tokens,
                str(silent),
            ]
            styles = ["", "", color, "", "", ""]
            pairs = zip(cells, styles, strict=True)
            self.table.add_row(*(Text(cell, style=style) for cell, style in pairs))

    def _show(self) -> None:
        """Show the selected episode in the selected view."""
        episode = self.chosen
        text: RenderableType = Text("no episode" if self.episodes.all else "no episode yet")
        pane = self.query_one("#episode", Static)
        if self.query_one(Tabs).active == "group":
            group = group_of(self.episodes.folder, None if episode is None else episode.step)
            text = draw(group, self.coloring, pane.size.width)
        elif episode is not None:
            reward = self.episodes.reward(episode.step)
            names = agents(episode)
            agent = self._views(names)
            text = view(episode, agent, reward) if agent else conversation(episode, reward)
        pane.update(text)

    def _views(self, names: list[str]) -> str:
        """Add a tab for each agent; return the selected agent, empty for the conversation."""
        tabs = self.query_one(Tabs)
        for name in names:
            if name not in self._agents:
                tab = Tab(Content(name), id=f"agent-{len(self._agents)}")
                tabs.add_tab(tab, before="group")
                self._agents.append(name)
        place = tabs.active.removeprefix("agent-")
        agent = self._agents[int(place)] if place.isdigit() else ""
        return agent if agent in names else ""

    def _show_state(self) -> None:
        """Show above the table the name and state of the run, and the filter."""
        episodes = self.episodes
        count = f"{len(episodes.all)} episodes"
        if str(self.filter):
            count = f"{len(self.shown)} of {count} ({self.filter})"
        parts = [episodes.folder.name, episodes.state or "state unknown"]
        parts += [f"step {episodes.last_step}", count, *["follows"] * self.follows]
        self.query_one("#state", Static).update("  ·  ".join(parts))


_COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_FAINT = "dim"


def agents(episode: Transcript) -> list[str]:
    """Return the agents of an episode, in the order of their first turns."""
    return list(dict.fromkeys(turn.agent for turn in episode.messages))


def conversation(episode: Transcript, reward: Reward | None) -> Text:
    """Return the task, every message with round, tokens and cost, and the graded answer."""
    parts: list[Text | None] = [_task(episode)]
    for turn in episode.messages:
        parts.append(_head(episode, turn, reward))
        parts.append(_thought(turn))
        parts.append(_indented(turn.text or "(silent)", "" if turn.text else _FAINT))
    return _lines([*parts, _end(episode, reward)])


def view(episode: Transcript, agent: str, reward: Reward | None) -> Text:
    """Return the texts that an agent read and said, turn by turn, beginning with its prompt."""
    parts: list[Text | None] = [Text(f"what {agent} read and said", style="bold")]
    for turn in episode.messages:
        if turn.agent == agent:
            parts.append(Text(f"\nread before round {turn.round + 1}", style="bold"))
            nothing = "(nothing new, or it was not recorded)"
            parts.append(_indented(turn.read or nothing, "" if turn.read else _FAINT))
            parts.append(_head(episode, turn, reward))
            parts.append(_thought(turn))
            parts.append(_indented(turn.text or "(silent)", "" if turn.text else _FAINT))
    return _lines(parts)


def prices(reward: Reward | None) -> str:
    """Return the price of tokens in words."""
    if reward is None:
        return "price unknown"
    payer = {
        "own": "its speaker",
        "team": "the whole team",
        "listeners": "its speaker for each listener",
    }[reward.charge]
    return f"price {reward.price:g} for {reward.normalizer:g} tokens, charged to {payer}"


def _task(episode: Transcript) -> Text:
    task = Text(f"step {episode.step}, task {episode.task}\n", style="bold")
    for statement in episode.statements:
        task.append(f"{statement}\n", style="not bold")
    return task.append(episode.question, style="not bold")


def _head(episode: Transcript, turn: TurnRecord, reward: Reward | None) -> Text:
    place = agents(episode).index(turn.agent)
    head = Text(f"\n{turn.agent}", style=f"bold {_COLORS[place % len(_COLORS)]}")
    return head.append(f"  {', '.join(_notes(turn, reward))}", style=f"not bold default {_FAINT}")


def _notes(turn: TurnRecord, reward: Reward | None) -> Iterator[str]:
    yield f"round {turn.round + 1}"
    yield f"{turn.tokens} token{'' if turn.tokens == 1 else 's'}"
    if turn.tokens_thought:
        yield f"{turn.tokens_thought} thought"
    if reward is not None and (price := cost(turn, reward)):
        yield f"price {price:.3f}"
    if turn.informed is not None:
        yield "held something useful" if turn.informed else "held nothing useful"
    if turn.cut:
        yield "cut to its budget"
    if turn.truncated:
        yield "stopped at its limit"


def _thought(turn: TurnRecord) -> Text | None:
    return _indented(f"(thought) {turn.thought}", f"italic {_FAINT}") if turn.thought else None


def _end(episode: Transcript, reward: Reward | None) -> Text:
    color = {True: "green", False: "red", None: "yellow"}[episode.solved]
    graded = f"graded answer: {episode.answer or '-'}   right: {episode.reference or '-'}"
    worth = f"   score {score(episode)}" if score(episode) else ""
    tokens = "" if episode.tokens_said is None else f"   {episode.tokens_said} tokens said"
    tokens += f"   ended by {episode.ended_by}" if episode.ended_by else ""
    free = reward is not None and reward.price and "; the words that state an answer may be free"
    return Text.assemble(
        (f"\n{verdict(episode)} {graded}", f"bold {color}"),
        f"{worth}{tokens}\n{prices(reward)}",
        (free or "", _FAINT),
    )


def _indented(text: str, style: str) -> Text:
    return Text("\n".join(f"  {line}" for line in text.split("\n")), style=style)


def _lines(parts: list[Text | None]) -> Text:
    return Text("\n").join([part for part in parts if part is not None])
