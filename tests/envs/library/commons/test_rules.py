"""The rules of a commons, by hand and against recorded months."""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.commons import Commons
from laconic.envs.library.commons.stock import Month, State

FIVE = [f"fisher_{number}" for number in range(5)]


# Units a month -> months until collapse (12 if none), units each; all by hand from 100 units:
# 11 leaves 45, 90 - 55 = 35, 70 - 55 = 15, 30 - 55 < 0: 4 months, 3 * 11 + 6 = 39 units.
@pytest.mark.parametrize(
    ("units", "length", "gain"),
    [
        *((units, 12, 12 * units) for units in range(11)),
        (11, 4, 39),
        (12, 3, 32),
        (13, 3, 28),
        (14, 2, 26),
        (15, 2, 25),
        (19, 2, 21),
        (20, 1, 20),
        (21, 1, 20),
        (100, 1, 20),
        (999_999, 1, 20),
    ],
)
@pytest.mark.parametrize("language", ["free", "none"])
def test_constant_harvests(commons, months, units, length, gain, language):
    env = commons(language=language)
    info = months(env, [units] * 12)["fisher_0"]
    assert not env.agents
    measures = info["measures"]
    assert (measures["months"], measures["gain"]) == (length, gain)
    # To catch nothing keeps the stock as well, so no episode counts as solved or not.
    assert measures["survived"] == (units <= 10) and "solved" not in info
    assert info["score"] == pytest.approx(gain / 120, rel=1e-12)
    assert (
        info["answer"]
        == f"{length} months, "
        + ", ".join(
            f"{sum(month.caught[agent] for month in env.world_state.months)}" for agent in FIVE
        )
        + " each"
    )


def test_taking_all_in_the_last_month_pays_most_and_is_a_collapse(commons, months):
    info = months(commons(), [10] * 11 + [100])["fisher_0"]
    measures = info["measures"]
    # 11 * 10 + 100 / 5 = 130.
    assert measures["gain"] == 130
    assert (measures["survived"], measures["survived_to_last"], measures["months"]) == (0, 1, 12)


def test_every_unit_is_gained_when_it_is_caught(commons):
    env = commons()
    _, rewards, *_ = env.step({"fisher_0": "> catch 12", "fisher_1": "> catch 6", "fisher_2": "hm"})
    # 12 / 120, 6 / 120, and nothing for who does not act.
    expected = dict.fromkeys(FIVE, 0.0) | {"fisher_0": 0.1, "fisher_1": 0.05}
    assert rewards == pytest.approx(expected, rel=1e-12)


def test_the_talk_of_a_collapse_still_happens(commons):
    env = commons(talk_rounds=2)
    *_, terminated, _, _ = env.step(dict.fromkeys(FIVE, "> catch 30"))
    assert not any(terminated.values()) and env.agents == FIVE
    env.step({})
    *_, terminated, truncated, _ = env.step({"fisher_0": "What have we done?"})
    assert all(terminated.values()) and not any(truncated.values()) and env.agents == []


def test_what_agents_read(commons):
    env = commons(universalization=True, instructions="brief", talk_rounds=1)
    observations, infos = env.reset(seed=0)
    assert observations["fisher_0"]["text"] == (
        "fisher_0\nMonth 1: 100 tons.\nAbove 10 each, the stock shrinks."
    )
    observations, *_ = env.step(dict.fromkeys(FIVE, "> catch 12"))
    assert observations["fisher_0"]["text"] == "All got 12 12 12 12 12, left 40."
    observations, *_ = env.step({"fisher_1": "Less."})
    month = "Month 2: 80 tons.\nAbove 8 each, the stock shrinks."
    assert observations["fisher_0"]["text"] == f"fisher_1: Less.\n{month}"
    assert observations["fisher_1"]["text"] == f"Nobody spoke.\n{month}"
    observations, *_ = env.step(dict.fromkeys(FIVE, "> catch 30"))
    got = env.world_state.months[-1].caught
    assert observations["fisher_0"]["text"] == (
        f"You got {got['fisher_0']} of 30. All got {' '.join(map(str, got.values()))}, left 0."
    )


def test_without_language_nobody_learns_what_others_got(commons):
    env = commons(language="none", instructions="brief")
    observations, _, _, _, infos = env.step(
        {"fisher_0": "Hello!\n> catch 7", "fisher_1": "> catch 30"}
    )
    assert observations["fisher_0"]["text"] == "You got 7 of 7.\nMonth 2: 100 tons."
    assert infos["fisher_0"]["message"] == "" and infos["fisher_0"]["act"] == "> catch 7"
    assert infos["fisher_0"]["facts"]["last_total"] == 0


@pytest.mark.parametrize(
    ("line", "legal"),
    [
        ("> catch 10", True),
        (">catch 0", True),
        ("> catch 000010", True),
        ("> catch", False),
        ("> catch -1", False),
        ("> catch 1.5", False),
        ("> catch ten", False),
        ("> catch \u0661", False),
        ("> catch 1234567", False),
        ("> graze 10", False),
        ("> Catch 10", False),
        ("> catch 10 tons", False),
    ],
)
def test_an_act_is_a_whole_number_of_up_to_six_digits(commons, line, legal):
    env = commons()
    *_, infos = env.step({"fisher_0": line})
    assert infos["fisher_0"]["legal"] is legal
    assert infos["fisher_1"]["legal"] is True  # Who does nothing does nothing wrong.
    assert infos["fisher_0"]["act"] == (line if legal else "")


def test_acts_out_of_turn_are_none(commons):
    env = commons(talk_rounds=1)
    env.step(dict.fromkeys(FIVE, "> catch 10"))
    *_, infos = env.step({"fisher_0": "More!\n> catch 50"})
    assert (infos["fisher_0"]["legal"], infos["fisher_0"]["message"]) == (False, "More!")
    assert env.world_state.stock == 100


def test_one_speaks_at_a_time_and_passes_the_word_on(commons):
    env = commons(talk="published")
    assert env.rounds == 12 * 10
    observations, *_ = env.step(dict.fromkeys(FIVE, "> catch 10"))
    assert [agent for agent in FIVE if observations[agent]["tokens_left"][0]] == ["fisher_0"]
    observations, *_ = env.step({"fisher_0": "Well?\n> next fisher_3", "fisher_1": "Me!"})
    assert [agent for agent in FIVE if observations[agent]["tokens_left"][0]] == ["fisher_3"]
    assert observations["fisher_1"]["text"] == "fisher_0: Well?"
    # Neither oneself nor a stranger can be named; the word goes to the next in order.
    env.step({"fisher_3": "Fine.\n> next fisher_3"})
    assert env.world_state.speaker == "fisher_4"
    env.step({"fisher_4": "Yes."})
    assert env.world_state.speaker == "fisher_0"
    env.step({"fisher_0": "> end"})
    assert env.world_state.talk is None and env.world_state.month == 1
    # Silence ends it, too, and so does the ninth message.
    env.step({})
    env.step({})
    assert env.world_state.talk is None and env.world_state.month == 2
    env.step({})
    for _ in range(9):
        assert env.world_state.talk is not None
        env.step({agent: "And another thing." for agent in env.agents})
    assert env.world_state.talk is None and env.world_state.month == 3


def test_a_newcomer_joins_in_the_fourth_month(commons, months):
    env = commons(newcomer=True, months=15, talk_rounds=1)
    observations, infos = env.reset(seed=0)
    # 100 // 2 // 4 = 12.
    assert infos["fisher_0"]["facts"]["fair"] == 12
    for _ in range(3):
        assert env.world_state.stock == 100
        assert observations["fisher_4"]["tokens_left"][0] == 0
        env.step(dict.fromkeys(FIVE, "> catch 12"))
        observations, *_ = env.step({"fisher_0": "Good.", "fisher_4": "Let me in!"})
        assert "fisher_4" not in env.world_state.months[-1].caught
        assert "fisher_4" not in observations["fisher_0"]["text"]
        assert "Good" not in observations["fisher_4"]["text"]
    assert observations["fisher_4"]["tokens_left"][0] > 0
    info = months(env, [10] * 12)["fisher_0"]
    assert info["measures"]["months"] == 15 and info["measures"]["survived"] == 1
    assert env.world_state.months[-1].caught == dict.fromkeys(FIVE, 10)


@pytest.mark.parametrize(
    ("carried", "length", "survives"),
    [(10, 12, True), (9, 1, False), (20, 12, True), (0, 1, False)],
)
def test_trash_has_to_be_carried_away(commons, months, carried, length, survives):
    env = commons(wording="trash")
    info = months(env, [carried] * 12)["roommate_0"]
    assert (info["measures"]["months"], info["measures"]["survived"]) == (length, survives)
    # A month is worth 20 less what one carries; of 50 bags a month only 50 can be carried on.
    units = {10: 120.0, 9: 11.0, 20: 12 * 20 - (100 + 11 * 50) / 5, 0: 20.0}[carried]
    assert info["measures"]["gain"] == pytest.approx(units, rel=1e-12)


@pytest.mark.parametrize("wording", ["fishery", "pasture", "pollution", "trash"])
def test_every_wording_explains_itself_and_its_own_verb_is_taken(wording):
    env = envs.make("commons", free=True, tasks=2, wording=wording)
    observations, _ = env.reset(seed=0)
    verb, role = env.world.words.verb, env.world.words.role
    assert set(env.possible_agents) == {f"{role}_{number}" for number in range(5)}
    assert f"`> {verb} 7`" in observations[f"{role}_0"]["text"]
    *_, infos = env.step(dict.fromkeys(env.agents, f"> {verb} 7"))
    assert all(info["legal"] for info in infos.values())


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"wording": "fish"}, UnknownNameError, r"env\.wording 'fish'. Did you mean 'fishery'"),
        ({"months": 0}, SettingError, r"env\.months must be a whole number of at least 1; got 0"),
        ({"talk": "all"}, UnknownNameError, r"env\.talk 'all'"),
        ({"talk_rounds": 0}, SettingError, r"env\.talk_rounds must be"),
        ({"language": "fr"}, UnknownNameError, r"env\.language 'fr'"),
        ({"grant": "first"}, UnknownNameError, r"env\.grant 'first'"),
        ({"universalization": 1}, SettingError, r"env\.universalization must be true or false"),
        ({"newcomer": "no"}, SettingError, r"env\.newcomer must be true or false"),
        ({"newcomer": True, "team": {"fisher": 1}}, SettingError, "at least two; got one agent"),
        ({"generator": {"stock": 5}}, SettingError, r"generator\.stock must be .* from 10 to 100"),
        ({"generator": {"stok": 5}}, UnknownNameError, "'stok'. Did you mean 'stock'"),
        ({"source": "x"}, SettingError, r"has no data to read; got env\.source=x"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        envs.make("commons", free=True, **{"tasks": 2, **settings})


def test_a_stock_may_be_drawn_from_a_range():
    env = envs.make("commons", free=True, tasks=50, generator={"stock": [20, 60]})
    stocks = {env.world.start(task, FIVE, None).stock for task in env.tasks.values()}
    assert min(stocks) >= 20 and max(stocks) <= 60 and len(stocks) > 10


def test_what_numeric_agents_choose_from_is_offered_when_it_makes_sense():
    world = Commons(talk_rounds=1)
    env = envs.make("commons", free=True, tasks=2, talk_rounds=1)
    env.reset(seed=0)
    assert all(act.startswith("> catch") for act in env.offered("fisher_0"))
    env.step({})
    assert env.offered("fisher_0") == {act for act in world.menu() if act.endswith("each.")}
    assert Commons(language="none").menu() == tuple(
        act for act in world.menu() if act.startswith(">")
    )


def test_equal_seeds_draw_equal_lotteries_and_others_do_not(commons, months):
    def caught(seed):
        env = commons(seed=seed)
        months(env, [30])
        return tuple(env.world_state.months[0].caught.values())

    measures = [caught(seed) for seed in range(6)]
    assert measures == [caught(seed) for seed in range(6)]
    assert len(set(measures)) > 1


MONTH = Month(100, {"a_0": 12, "a_1": 9}, {"a_0": 12, "a_1": 9}, 10)


def test_the_last_harvest_is_known_as_far_as_it_is_public():
    state = State(("a_0", "a_1"), 79, (MONTH,), talk=0)
    facts = Commons().facts_for(state, "a_0")
    expected = {
        "stock": 79,
        "last_wanted": 12,
        "last_caught": 12,
        "last_total": 21,
        "last_overuse": 1,
        "last_fair": 10,
    }
    assert {name: facts[name] for name in ("month", *expected)} == {"month": 0, **expected}
    private = Commons(language="none").facts_for(state, "a_1")
    assert [private[f"last_{name}"] for name in ("wanted", "total", "overuse")] == [9, 0, 0]


def test_before_the_first_harvest_no_last_one_is_known():
    facts = Commons().facts_for(State(("a_0", "a_1"), 100), "a_0")
    assert facts["stock"] == 100
    assert not any(value for name, value in facts.items() if name.startswith("last_"))
