"""The statements that agents know in a dialogue, and the agents that they hear.

The team: solver_0, helper_0 and helper_1; one character is one token.
"""

from __future__ import annotations

import pytest

AGENTS = ["solver_0", "helper_0", "helper_1"]
TEAM = {"solver": 1, "helper": 2}


def _say(env, *texts):
    """Play one round in which the agents say these texts, in their order."""
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


# Information


def test_split_deals_the_statements_to_the_helpers_and_shows_the_question_to_all(make_env, tasks):
    observations, infos = make_env(team=TEAM, information="split").reset(
        seed=0, options={"task": "fruit"}
    )
    shares = [infos[agent]["share"] for agent in AGENTS]
    assert shares[0] == ()
    assert sorted(shares[1] + shares[2]) == [0, 1, 2, 3]
    for agent, share in zip(AGENTS, shares, strict=True):
        text = observations[agent]["text"]
        assert tasks[0].question in text
        for index, statement in enumerate(tasks[0].statements):
            assert (statement in text) == (index in share)


@pytest.mark.parametrize("settings", [{"answer": "majority"}, {"team": {"solver": 3}}])
def test_where_everybody_answers_everybody_holds_a_part(make_env, settings):
    env = make_env(**{"team": TEAM, "information": "split", **settings})
    _, infos = env.reset(seed=0, options={"task": "fruit"})
    shares = [index for info in infos.values() for index in info["share"]]
    assert sorted(shares) == [0, 1, 2, 3]
    assert all(info["share"] for info in infos.values())


def test_informed_is_who_holds_something_that_matters_and_has_not_spoken(start):
    env = start(information="split", rounds=3)
    # Statements 0 and 2 of `fruit` matter.
    matters = {agent: any(i in (0, 2) for i in env.shares[agent]) for agent in AGENTS[1:]}
    _, _, _, _, infos = _say(env)
    for agent, expected in matters.items():
        assert infos[agent]["informed"] is expected
    assert True in matters.values()
    speaker = next(agent for agent in matters if matters[agent])
    _, _, _, _, infos = env.step({speaker: "There are 3 apples."})
    assert infos[speaker]["informed"] is False


def test_nobody_can_say_who_is_informed_where_all_read_all_or_flags_are_missing(start):
    for env in (start(information="full"), start(information="split", task="unknown")):
        *_, infos = _say(env, "", "", "hm")
        assert [info["informed"] for info in infos.values()][:2] == [None, None]


def test_an_answering_agent_is_not_rated_as_informed_but_voters_are(start):
    *_, infos = _say(start(information="split", team={"solver": 2}), "")
    assert [info["informed"] for info in infos.values()] == [None, None]
    *_, infos = _say(start(information="split", answer="majority"), "")
    assert all(isinstance(info["informed"], bool) for info in infos.values())


def _facts_told(env, *rounds):
    """Play an episode of these rounds, each by agent, and return its share of told facts."""
    for message in rounds:
        *_, infos = env.step(message)
    assert env.agents == []
    return {agent: info.get("measures", {}).get("facts_told") for agent, info in infos.items()}


def test_an_episode_tells_at_its_end_how_many_of_the_useful_facts_their_holders_said(start, tasks):
    env = start(information="split", rounds=2)
    facts = tasks[0].statements
    holder = {i: agent for agent, share in env.shares.items() for i in share}
    *_, infos = env.step({holder[0]: f"I know: {facts[0]}"})
    assert all("measures" not in info for info in infos.values())
    # Who has spoken may go on; what the solver repeats tells nobody's fact.
    measured = _facts_told(env, {"solver_0": f"{facts[2]} #5"})
    assert measured == dict.fromkeys(AGENTS, 1 / 2)
    env.reset(seed=0, options={"task": "fruit"})
    holder = {i: agent for agent, share in env.shares.items() for i in share}
    measured = _facts_told(env, {holder[0]: facts[0]}, {holder[2]: facts[2], "solver_0": "#5"})
    assert measured == dict.fromkeys(AGENTS, 1.0)


def test_what_was_told_is_left_out_where_nobody_knows_which_facts_are_useful(start):
    settings = ({"information": "full"}, {"information": "split", "task": "unknown"})
    for env in (start(rounds=1, **override) for override in settings):
        assert _facts_told(env, {"solver_0": "#5"}) == dict.fromkeys(AGENTS)


# Hearing


def test_each_agent_hears_the_others_of_the_round_and_not_itself(start):
    observations, *_ = _say(start(), "one", "two", "")
    assert observations["solver_0"]["text"] == "helper_0: two"
    assert observations["helper_0"]["text"] == "solver_0: one"
    assert observations["helper_1"]["text"] == "solver_0: one\nhelper_0: two"


def test_only_what_is_new_is_observed(start):
    env = start()
    _say(env, "one")
    observations, *_ = _say(env, "two")
    assert observations["helper_0"]["text"] == "solver_0: two"


def test_a_chain_carries_words_to_the_neighbours_only(start):
    observations, *_ = _say(start(topology="chain"), "one", "two", "three")
    assert observations["solver_0"]["text"] == "helper_0: two"
    assert observations["helper_0"]["text"] == "solver_0: one\nhelper_1: three"
    assert observations["helper_1"]["text"] == "helper_0: two"


def test_a_matrix_may_let_one_hear_who_does_not_hear_back(start):
    matrix = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    observations, *_ = _say(start(topology=matrix), "one", "two", "three")
    assert [observation["text"] for observation in observations.values()] == [
        "helper_0: two",
        "Nobody spoke.",
        "Nobody spoke.",
    ]


def test_tokens_read_count_all_that_was_observed(start):
    env = start()
    first = {agent: env.ledger.read[agent] for agent in AGENTS}
    *_, infos = _say(env, "one", "two", "")
    # "helper_0: two" has 13 characters, "solver_0: one" 13, both lines with a newline 27.
    assert [infos[a]["tokens_read"] - first[a] for a in AGENTS] == [13, 13, 27]
