"""The viewer under the keys of a user, run by textual's pilot."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from logged_groups import CONTRAST, learner
from rich.console import Console

pytest.importorskip("textual", reason="needs the extra 'watch'")

from textual.widgets import Input, Static, Tab, Tabs  # noqa: E402

from laconic.experiments.run_folder.folder import RunFolder  # noqa: E402
from laconic.experiments.run_folder.group_log import log_group  # noqa: E402
from laconic.extras.viewer.app import Viewer  # noqa: E402


@pytest.fixture
def use(folder):
    """Run a viewer with an async function of it and the pilot: `use(do, size=(140, 40))`."""

    def run(do, size=(140, 40), where=folder):
        async def play():
            app = Viewer(where)
            app.animation_level = "none"
            async with app.run_test(size=size) as pilot:
                await pilot.pause()
                await do(app, pilot)

        asyncio.run(play())

    return run


def shown(app):
    return [f"{each.step}{each.task}" for each in app.shown]


def text(app, name="episode"):
    return str(app.query_one(f"#{name}", Static).content)


def test_the_first_episode_is_shown_and_arrows_select_others(use):
    async def do(app, pilot):
        assert app.table.row_count == 4 and "I have 3 and 4" in text(app)
        await pilot.press("down")
        assert text(app).startswith("step 0, task b")
        assert text(app, "state") == "mine  ·  running  ·  step 4  ·  4 episodes"

    use(do)


def test_keys_filter_and_escape_shows_all_again(use):
    async def do(app, pilot):
        for keys, expected in [
            ("s", ["0a", "4a"]),
            ("s", ["0b", "4b"]),
            ("c", ["0b"]),
            ("escape", ["0a", "0b", "4a", "4b"]),
            ("i", ["0b", "4a", "4b"]),
            ("right_square_bracket", ["0b"]),
            ("right_square_bracket", ["4a", "4b"]),
            ("left_square_bracket", ["0b"]),
        ]:
            await pilot.press(keys)
            assert shown(app) == expected, keys
        assert "1 of 4 episodes (silent, step 0)" in text(app, "state")

    use(do)


def test_the_chosen_episode_stays_chosen_while_it_is_shown(use):
    async def do(app, pilot):
        await pilot.press("down", "down", "s")
        assert shown(app) == ["0a", "4a"] and app.chosen.step == 4
        assert text(app).startswith("step 4, task a")

    use(do)


def test_each_agents_view_is_a_tab(use):
    async def do(app, pilot):
        await pilot.press("v")
        assert text(app).startswith("what helper_0 read and said")
        # It stays that agent's from episode to episode.
        await pilot.press("down")
        assert "what helper_0" in text(app) and "(silent)" in text(app)
        await pilot.press("v", "v")
        assert "what solver_0" in text(app)
        await pilot.press("v")
        assert text(app).startswith("step 0, task b")
        assert app.query_one(Tabs).tab_count == 5

    use(do)


def test_a_training_group_is_a_tab_whose_colors_change_with_the_same_key(use, folder):
    log_group(RunFolder(folder), learner(CONTRAST), (CONTRAST,), 10)

    def drawn(app):
        console = Console(width=80, file=io.StringIO(), color_system="truecolor")
        with console.capture() as capture:
            console.print(app.query_one("#episode", Static).content)
        return capture.get()

    async def do(app, pilot):
        await pilot.press("g")
        first = drawn(app)
        assert app.query_one(Tabs).active == "group"
        for part in ("update 10, task t: 2 episodes", "log-probability", "episode 1: not solved"):
            assert part in first
        # T, C, X and A of the first episode.
        assert "1.00  0.40  0.60   0.90" in first
        await pilot.press("g")
        assert app.coloring == "ratio" and "about 1" in drawn(app)
        await pilot.press("g", "g", "g")
        assert app.coloring == "logprob" and drawn(app) == first

    use(do)


def test_without_a_training_group_the_tab_says_so(use):
    async def do(app, pilot):
        await pilot.press("g")
        assert "no training group yet" in text(app)

    use(do)


def test_words_are_searched_while_they_are_typed(use):
    async def do(app, pilot):
        await pilot.press("slash", *"nothing")
        assert shown(app) == ["0a"]
        # Letters that are keys elsewhere are letters here.
        assert app.query_one(Input).value == "nothing" and app.filter.solved == ""
        await pilot.press("enter", "escape")
        assert len(shown(app)) == 4 and not app.query_one(Input).display

    use(do)


def test_a_filter_that_admits_nothing_shows_nothing_and_no_error(use):
    async def do(app, pilot):
        await pilot.press("slash", *"zzz", "enter")
        assert shown(app) == [] and text(app) == "no episode"
        await pilot.press("down", "v", "f")

    use(do)


def test_new_episodes_appear_and_incomplete_lines_once_they_are_complete(use, folder):
    new = json.dumps({"step": 8, "task": "c", "question": "New?", "solved": True})

    async def do(app, pilot):
        with open(folder / "transcripts.jsonl", "a") as file:
            file.write(new[:30])
            file.flush()
            app.look()
            assert len(shown(app)) == 4
            file.write(new[30:] + "\n")
        app.look()
        await pilot.pause()
        assert shown(app)[-1] == "8c" and app.chosen.step == 0

    use(do)


def test_following_goes_to_the_newest(use, folder):
    async def do(app, pilot):
        await pilot.press("f")
        assert app.chosen.step == 4 and text(app, "state").endswith("follows")
        with open(folder / "transcripts.jsonl", "a") as file:
            file.write(json.dumps({"step": 8, "task": "c"}) + "\n")
        app.look()
        await pilot.pause()
        assert app.chosen.step == 8 and text(app).startswith("step 8, task c")

    use(do)


def test_a_run_that_was_rewound_is_shown_as_it_is_now(use, folder):
    rows = (folder / "transcripts.jsonl").read_text().splitlines()

    async def do(app, pilot):
        (folder / "transcripts.jsonl").write_text(f"{rows[0]}\n")
        app.look()
        await pilot.pause()
        assert shown(app) == ["0a"] and app.table.row_count == 1

    use(do)


def test_a_run_that_has_not_begun(use, tmp_path):
    async def do(app, pilot):
        await pilot.press("s", "i", "right_square_bracket", "v", "escape")
        assert text(app) == "no episode yet"
        assert "state unknown" in text(app, "state")

    (tmp_path / "new").mkdir()
    use(do, where=tmp_path / "new")


def test_a_narrow_terminal_has_the_table_above(use):
    async def do(app, pilot):
        assert app.table.region.width == 80
        assert app.query_one("#episode").region.y > app.table.region.bottom

    use(do, size=(80, 30))


def test_a_clock_that_strikes_while_the_screen_is_taken_away_is_no_error(use):
    apps = []

    async def do(app, pilot):
        apps.append(app)

    use(do)
    apps[0].look()
    assert not apps[0].is_running


@pytest.mark.parametrize(
    "name",
    [
        "[@click=app.save_screenshot('mark.svg')]solver_0[/]",
        "[/no such thing]",
        "$text-error \x1b]0;title\x07",
        pytest.param("[@click=quit]solver_0", marks=pytest.mark.slow),
        pytest.param("[link=file:///etc/passwd]solver_0[/link]", marks=pytest.mark.slow),
        pytest.param("[b]solver_0", marks=pytest.mark.slow),
        pytest.param("solver_0[", marks=pytest.mark.slow),
    ],
)
def test_the_name_of_an_agent_is_text_and_nothing_else(use, folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    row = json.loads((folder / "transcripts.jsonl").read_text().splitlines()[0])
    row["messages"][0]["agent"] = name
    row["task"] = row["question"] = row["answer"] = name
    (folder / "transcripts.jsonl").write_text(json.dumps(row) + "\n")
    shown_name = name.replace("\x1b", "").replace("\x07", "")

    async def do(app, pilot):
        labels = [tab.label.plain for tab in app.query(Tab)]
        assert labels == ["conversation", shown_name, "helper_1", "solver_0", "group"]
        await pilot.click("#agent-0")
        assert app.is_running and text(app).startswith(f"what {shown_name} read")
        assert not (folder / "mark.svg").exists()

    use(do)
