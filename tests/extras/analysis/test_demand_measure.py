"""Demand of scripted teams, whose words are worth what can be read off them."""

from __future__ import annotations

import csv

import pytest
from door_game import Players, door

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.run_folder.folder import RunFolder
from laconic.extras.analysis.demand_measure import Demand, Settings, measure, reached, row, write
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.rollout.play import Start

SPLIT = {"information": "split", "topology": "star", "schedule": ["helper", "solver"]}


def demand_of(script: str, settings: Settings = Settings(), tasks: int = 6, **more) -> Demand:  # noqa: B008
    own = {"split": "evaluation", "tasks": tasks, "reward": {"price": 1.0, "normalizer": 50}}
    environments = [envs.make("signal", free=True, **{**SPLIT, **own, **more}) for _ in range(3)]
    policies = ScriptedTeam(script).policies(environments[0])
    starts = [Start(seed, key) for seed, key in enumerate(environments[0].tasks)]
    demand = measure(environments, policies, starts, settings)
    assert {env.reward.price for env in environments} == {demand.price}, "the price is put back"
    return demand


def test_a_wordy_fact_is_worth_nothing_until_its_last_word_and_then_everything():
    demand = demand_of("verbose")
    useful = [worth for worth in demand.worths if worth.turn.informed]
    assert len(useful) == 6
    for message in useful:
        text = "".join(message.pieces)
        end = text.index(".", text.index("The ")) + 1
        # Facts of the table that do not matter may stand before the one that does.
        for k, worth in enumerate(message.own):
            prefix = text[: len("".join(message.pieces[:k]))]
            assert worth == float(statement_of(demand, message) in prefix)
        assert message.own[-1] == 1.0 and end <= len(text)
        # All four are paid for one solved task, which counts once.
        assert message.team == message.own
    useless = [worth for worth in demand.worths if worth.turn.informed is False]
    assert all(set(message.own) == {0.0} for message in useless)
    assert demand.figures["worth_informed"].mean == 1.0


def statement_of(demand: Demand, message) -> str:
    """Return the relevant fact of the episode of a message."""
    tasks = envs.make("signal", free=True, split="evaluation", tasks=6).tasks
    task = tasks[demand.episodes[message.episode].task]
    return next(t for t, flag in zip(task.statements, task.relevant, strict=True) if flag)


def test_the_words_that_state_the_answer_are_free():
    demand = demand_of("oracle")
    answers = [m for w, m in zip(demand.worths, demand.messages, strict=True) if m.useful is None]
    # `#### red` is free as a whole, once it commits.
    assert len(answers) == 6 and {message.charged[-1] for message in answers} == {0}
    assert all(message.charged[1] == 1 for message in answers)
    dear = demand_of("oracle", reward={"price": 1.0, "exempt_answer": False})
    assert 0 not in {message.charged[-1] for message in dear.messages}


def test_a_brief_team_buys_all_it_says_and_a_dear_word_too_many_is_not_bought():
    demand = demand_of("oracle")
    assert demand.figures["bought"].mean == demand.figures["tokens"].mean
    # `The ball is red.` is worth 1 and has 5 tokens of these: it pays up to 10 for each 50.
    assert demand.figures["choke_price"].mean == 10.0
    assert demand.figures["pays"].mean == 1.0
    assert demand_of("oracle", reward={"price": 11.0, "normalizer": 50}).figures["pays"].mean == 0.0


@pytest.mark.parametrize("worth", ["own", "team"])
@pytest.mark.parametrize("charge", ["own", "team"])
def test_a_token_costs_the_same_under_every_worth_and_charge(worth, charge):
    reward = {"price": 1.0, "normalizer": 50, "charge": charge}
    demand = demand_of("oracle", Settings(worth=worth), reward=reward)
    assert demand.figures["choke_price"].mean == 10.0


def test_if_informed_agents_are_unknown_all_messages_count_as_useful():
    demand = demand_of("oracle", information="full", schedule="all", answer="majority")
    assert {message.useful for message in demand.messages} == {True}


def test_worth_is_reached_step_by_step():
    demand = demand_of("oracle", Settings(points=5))
    steps = reached(demand.messages)
    assert steps[0] == 0.0 and steps[-1] == 1.0 and sorted(steps) == steps
    assert reached([]) == []
    assert row(demand, 3)["step"] == 3 and len(row(demand, 3)["curve"]["price"]) == 5


def test_tables_have_a_line_a_price_a_message_and_a_token(tmp_path):
    demand = demand_of("oracle", Settings(points=4, most_price=12.0))
    write(demand, RunFolder(tmp_path))

    def lines(name: str) -> list[dict[str, str]]:
        with open(tmp_path / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    assert [float(line["price"]) for line in lines("demand.csv")] == [0.0, 4.0, 8.0, 12.0]
    # The facts are bought up to 10; the free answers at any price.
    assert [float(line["pays"]) for line in lines("demand.csv")] == [1.0, 1.0, 1.0, 0.0]
    messages, tokens = lines("messages.csv"), lines("tokens.csv")
    assert len(messages) == len(demand.messages)
    assert len(tokens) == sum(int(line["tokens"]) for line in messages)
    assert sum(float(line["own_marginal_worth"]) for line in tokens) == pytest.approx(
        sum(float(line["own_worth"]) for line in messages)
    )


def test_settings_out_of_range_are_refused():
    with pytest.raises(UnknownNameError, match=r"demand\.worth"):
        Settings(worth="mine")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"demand\.points must be .* at least 2; got 1"):
        Settings(points=1)


@pytest.mark.parametrize("reward", [{"charge": "listeners"}, {"read_price": 0.5}])
def test_a_price_that_depends_on_listeners_is_refused(reward):
    with pytest.raises(SettingError, match="needs one price for every token said; set env.reward"):
        demand_of("oracle", reward={"price": 1.0, "normalizer": 50, **reward})


def test_an_environment_without_a_price_is_refused(relay_like):
    with pytest.raises(SettingError, match="needs an environment with `reward`"):
        measure([relay_like], {}, [Start(0)], Settings())


@pytest.fixture
def relay_like():
    """Something that is stepped and has no price."""
    from pettingzoo import ParallelEnv

    class Plain(ParallelEnv):
        possible_agents = ["a_0"]

    return Plain()


def test_words_that_end_an_episode_sooner_are_worth_the_rounds_that_they_save():
    environments = [door() for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, Players(("teller_0",)))
    worths = measure(environments, policies, [Start(0)], Settings()).worths
    # Without the key the team fails in four rounds instead of solving in two: 0.8 + 0.4. Without
    # `open` the solver opens a round later.
    found = {worth.turn.message: worth.team for worth in worths}
    assert found == {"key": pytest.approx((0.0, 1.2)), "open": pytest.approx((0.0, 0.1))}
