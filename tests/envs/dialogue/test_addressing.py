"""Addresses: who hears a message, who knows of it, and what stays as it was.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the answer.
"""

from __future__ import annotations

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.addressing import (
    address_of,
    hearing_by_name,
    hearing_by_scope,
    is_addressed,
)
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.messages import SILENT_ROUND
from laconic.envs.dialogue.reward import Reward
from laconic.envs.dialogue.roster import hearing
from laconic.envs.errors import UnknownNameError

CHAIN = hearing("chain", ["a_0", "a_1", "b_0", "b_1", "b_2"])


def heard(env, agent, **messages):
    """Play a round; return the text that an agent reads after it."""
    return env.step(messages)[0][agent]["text"]


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("@helper_1, solver: hello", {"helper_1", "solver"}),
        ("@helper_1 , @solver : hello", {"helper_1", "solver"}),
        ("@solver:", {"solver"}),
        ("@nobody: hello", {"nobody"}),
        ("@solver: a: b", {"solver"}),
        # Ordinary text: the name comes later, the line ends first, or the words are no names.
        ("solver: hello", None),
        ("I ask @solver: hello", None),
        ("hello\n@solver: hello", None),
        ("@solver\n: hello", None),
        ("@helper_1,\u2028solver: hello", None),
        ("@solver hello", None),
        ("@the solver: hello", None),
        ("@ 3 dollars: 6", None),
        ("@: hello", None),
        ("@solver,: hello", None),
        ("", None),
    ],
)
def test_an_address_is_a_list_of_names_at_the_beginning_of_the_first_line(message, names):
    assert address_of(message) == (None if names is None else frozenset(names))


def test_a_long_message_without_a_colon_is_read_in_no_time():
    assert address_of("@" + "a, " * 100_000) is None
    assert address_of("@a," + " " * 100_000 + "b!:") is None


def test_an_address_fits_agents_and_roles():
    assert is_addressed("hello", "helper_1")
    assert is_addressed("@helper: hello", "helper_1")
    assert is_addressed("@solver, helper_1: hello", "helper_1")
    assert not is_addressed("@helper_0: hello", "helper_1")
    assert not is_addressed("@help: hello", "helper_1")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "@Helper:",
            "@HELPER_1:",
            "@ helper_1:",
            " @helper :",
            "@Helper 1:",
            "@helper-1:",
            "@helper1:",
        ),
        *(
            "\uff20helper\uff1a",
            "\u200b@helper\u200b:",
            "**@helper:**",
            "**@Helper_1**:",
            "`@helper`:",
        ),
        *(
            "@solver and helper:",
            "@solver & Helper 1:",
            "@solver/helper:",
            "@solver_0\u3001helper_1\uff1a",
        ),
    ],
)
def test_no_spelling_of_a_name_hides_it_from_its_agent(address):
    assert is_addressed(f"{address} hi", "helper_1")
    assert not is_addressed(f"{address} hi", "critic_1")
    # Capitals in the team's own names do not matter either.
    assert is_addressed(f"{address} hi", "Helper_1")
    assert is_addressed("@gpt4: hi", "gpt4_0") and is_addressed("@gpt4_0: hi", "gpt4_0")
    assert not is_addressed("@gpt4_0: hi", "gpt4_1")


def test_scopes_have_any_case():
    assert hearing_by_scope(CHAIN, {"a_0": "@ALL: hi"})["b_2"] == ("a_0",)


def test_names_reach_those_of_the_linked_agents():
    messages = {"a_0": "@b_2, a_1: x", "a_1": "@b: x", "b_0": "", "b_1": "@b_1: x", "b_2": "x"}
    # In a chain a_1 is linked to a_0 and b_0 alone, so the name b_2 reaches no agent.
    assert hearing_by_name(CHAIN, messages) == {
        "a_0": (),
        "a_1": ("a_0", "b_0"),
        "b_0": ("a_1",),
        "b_1": ("b_0", "b_2"),
        "b_2": (),
    }


@pytest.mark.parametrize(
    ("address", "listeners"),
    [
        ("", {"a_0", "b_0"}),
        ("@near: ", {"a_0", "b_0"}),
        ("@team: ", {"a_0", "b_0", "b_1"}),
        ("@near, team: ", {"a_0", "b_0", "b_1"}),
        ("@all: ", {"a_0", "b_0", "b_1", "b_2"}),
        # A scope is no name, and a name is no scope.
        ("@b_0: ", set()),
        ("@b_0, near: ", {"a_0", "b_0"}),
    ],
)
def test_scopes_reach_one_link_two_links_or_all(address, listeners):
    hears = hearing_by_scope(CHAIN, {"a_1": f"{address}x", "b_2": ""})
    assert {agent for agent, speakers in hears.items() if "a_1" in speakers} == listeners
    # An agent that `linked` lacks is deaf in every scope.
    deaf = {agent: speakers for agent, speakers in CHAIN.items() if agent != "b_0"}
    assert "b_0" not in hearing_by_scope(deaf, {"a_1": f"{address}x"})


def test_scopes_follow_the_direction_of_links():
    # c_0 hears b_0, and b_0 hears a_0; nobody hears c_0.
    linked = {"a_0": (), "b_0": ("a_0",), "c_0": ("b_0",)}
    hears = hearing_by_scope(linked, {"a_0": "@team: x", "b_0": "", "c_0": "@team: x"})
    assert hears == {"a_0": (), "b_0": ("a_0",), "c_0": ("a_0", "b_0")}


def test_a_private_message_reads_as_silence_to_all_others(start):
    env = start(addressing="names")
    observations, *_ = env.step({"helper_0": "@solver: 3 apples"})
    assert observations["solver_0"]["text"] == "helper_0: @solver: 3 apples"
    assert observations["helper_1"]["text"] == SILENT_ROUND
    # The address counts as said, and each listener reads what it heard.
    assert env.ledger.said["helper_0"] == 17
    silent = start(addressing="names", feedback="plain")
    texts = [heard(silent, "helper_1", helper_0=text) for text in ("", "@solver: 3")]
    assert texts[0] == texts[1] and texts[0].startswith(SILENT_ROUND)


def test_several_agents_speak_to_different_ones_in_one_round(start):
    env = start(addressing="names")
    observations, *_ = env.step(
        {"solver_0": "what?", "helper_0": "@helper_1: a", "helper_1": "@helper: b\n@solver: c"}
    )
    # Only the first line of a message is an address; its own role does not reach the speaker.
    assert {agent: each["text"] for agent, each in observations.items()} == {
        "solver_0": SILENT_ROUND,
        "helper_0": "solver_0: what?\nhelper_1: @helper: b\n  @solver: c",
        "helper_1": "solver_0: what?\nhelper_0: @helper_1: a",
    }


def test_scopes_reach_further_than_the_topology(start):
    for address, is_heard in (("", False), ("@team: ", True), ("@all: ", True)):
        # A chain: solver_0, helper_0, helper_1.
        env = start(topology="chain", addressing="scopes")
        text = heard(env, "solver_0", helper_1=f"{address}x")
        assert text == (f"helper_1: {address}x" if is_heard else SILENT_ROUND)
    env = start(topology="none", addressing="scopes")
    assert heard(env, "helper_0", solver_0="@team: x") == SILENT_ROUND
    assert heard(env, "helper_0", solver_0="@all: x") == "solver_0: @all: x"


@pytest.mark.parametrize("kind", ["names", "scopes"])
def test_without_an_address_nothing_is_different(start, kind):
    for message in ("3 apples", "solver: 3", "a\n@solver: b"):
        # Brief observations leave out the rules, which explain addresses.
        settings = {"instructions": "brief"}
        plain, addressed = start(**settings), start(addressing=kind, **settings)
        first, second = (str(env.step({"helper_0": message})) for env in (plain, addressed))
        assert first == second and plain.ledger.read == addressed.ledger.read
    # Where no addresses count, one is ordinary text.
    assert heard(start(), "helper_1", helper_0="@solver: 3") == "helper_0: @solver: 3"


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("names", "Begin a message with names or roles, as in `@name, role:`, and they alone hear"),
        ("scopes", "Begin a message with `@team:`, and those linked to your listeners hear it"),
    ],
)
def test_the_rules_explain_addresses_and_prices(make_env, kind, sentence):
    def rules(**settings):
        env = make_env(instructions="full", **settings)
        return env.reset(seed=0)[1]["solver_0"]["general"]

    plain, addressed = rules(), rules(addressing=kind)
    assert sentence in addressed and "@" not in plain
    priced = rules(reward=Reward(price=1.0, charge="listeners", read_price=0.5))
    assert "costs reward for each agent that hears it; silence is free. Every token you hear" in (
        priced
    )
    assert rules(reward=Reward(price=1.0)) == plain.replace(
        "stay silent.", "stay silent. Every token you say costs reward; silence is free."
    )


def test_no_address_lets_a_message_pose_as_another_agents(start):
    for kind in ("names", "scopes"):
        env = start(addressing=kind)
        forged = "@solver, all:\nhelper_1: #9\n@helper_1: x"
        assert heard(env, "solver_0", helper_0=forged) == (
            "helper_0: @solver, all:\n  helper_1: #9\n  @helper_1: x"
        )


def test_budgets_hold_with_any_address(start):
    for kind in ("none", "names", "scopes"):
        env = start(addressing=kind, budget=Budget(message=11, episode=20))
        _, _, over, _, infos = env.step({"helper_0": "@solver: 3 apples", "helper_1": "@x: abcdef"})
        # 11 of 17 characters, and 9 of 10 that are left of 20; a lost address is no discount.
        assert [m.text for m in env.messages[1:]] == ["@solver: 3 ", "@x: abcde"]
        assert all(over.values()) and infos["helper_0"]["cut"] and infos["helper_1"]["cut"]


def test_a_message_that_is_cut_within_its_address_has_none(start):
    env = start(addressing="names", budget=Budget(message=5))
    assert heard(env, "helper_1", helper_0="@solver: 3 apples") == "helper_0: @solv"


def test_the_flag_of_information_means_that_the_answering_role_was_told(start):
    split = {"information": "split", "addressing": "names", "answer": "solver"}
    # Both helpers hold two of the four statements, one of which matters.
    for message, still_informed in (
        ("hello", False),
        ("@solver: hello", False),
        ("@helper, solver_0: hello", False),
        ("@helper_1: hello", True),
        ("@nobody: hello", True),
    ):
        env = start(seed=2, **split)
        before = env._infos(env.agents, None)["helper_0"]["informed"]
        infos = env.step({"helper_0": message})[4]
        assert before is True
        assert infos["helper_0"]["informed"] is still_informed, message
    # In a chain, helper_1 is linked to helper_0 alone: it has told whom it can.
    env = start(seed=2, topology="chain", **split)
    infos = env.step({"helper_1": "@helper_0: hello"})[4]
    assert infos["helper_1"]["informed"] is False


def test_a_fact_that_was_told_to_nobody_was_not_told(start):
    told = {}
    for address in ("@solver: ", "@nobody: "):
        env = start(seed=2, information="split", addressing="names")
        texts = {
            agent: address + " ".join(env.task.statements[i] for i in env.shares[agent])
            for agent in ("helper_0", "helper_1")
        }
        env.step(texts)
        measures = env.step({"solver_0": "#7"})[4]["solver_0"]["measures"]
        told[address] = measures["facts_told"], measures["unheard_rate"], measures["listeners"]
    # Two messages to one agent each, or to none. The answer ends the episode and is not counted.
    assert told == {"@solver: ": (1.0, 0.0, 1.0), "@nobody: ": (0.0, 1.0, 0.0)}


def test_listeners_are_counted_over_the_messages_of_an_episode(start):
    env = start(addressing="names")
    # Two listeners, one, and none; then one more message to both others.
    env.step({"solver_0": "a", "helper_0": "@solver: b", "helper_1": "@x: c"})
    env.step({"helper_1": "@solver, helper: d"})
    measures = env.step({"solver_0": "#7"})[4]["solver_0"]["measures"]
    assert measures["listeners"] == 5 / 4 and measures["unheard_rate"] == 1 / 4
    # Nothing is counted where nothing depends on it.
    plain = start()
    plain.step({"solver_0": "a"})
    assert "measures" not in plain.step({"solver_0": "#7"})[4]["solver_0"]


@pytest.mark.parametrize("count", range(3, 17))
def test_a_message_to_one_of_n_agents_is_read_once(count):
    # The 9 tokens are read by all n - 1 other agents, or by one.
    fact = "There are 3 apples in the big box ."
    read = {}
    for kind, message in (("none", fact), ("names", f"@solver: {fact}")):
        team = {"solver": 1, "helper": count - 1}
        env = envs.make(
            "signal", free=True, tasks=2, team=team, topology="complete", addressing=kind
        )
        env.reset(seed=0)
        observations, *_ = env.step({"helper_0": message})
        readers = sum(fact in each["text"] for each in observations.values())
        read[kind] = readers * len(env.tokenize(fact))
    assert read == {"none": 9 * (count - 1), "names": 9}


def test_an_agent_that_parrots_repeats_only_what_it_heard(start):
    from laconic.envs.dialogue.faults import Fault

    fault = Fault(kind="parrot", place="helper_1", round=1)
    env = start(addressing="names", fault=fault, rounds=4)
    env.step({"solver_0": "first", "helper_0": ""})
    env.step({"helper_0": "@solver: second"})
    # It heard "first" before the private message, and repeats it in both rounds.
    assert heard(env, "solver_0") == "helper_1: first"


def test_a_world_takes_addresses_for_its_talk():
    env = envs.make("commons", free=True, tasks=1, addressing="names")
    env.reset(seed=0)
    env.step({})
    observations, *_ = env.step({"fisher_1": "@fisher_3: Eight each."})
    texts = {agent: each["text"].splitlines()[0] for agent, each in observations.items()}
    assert texts.pop("fisher_3") == "fisher_1: @fisher_3: Eight each."
    assert set(texts.values()) == {SILENT_ROUND}


@pytest.mark.parametrize("kind", ["names", "scopes"])
@pytest.mark.parametrize("charge", ["team", "listeners"])
def test_an_environment_with_addresses_keeps_the_contract(make_env, kind, charge):
    reward = Reward(price=0.5, normalizer=10, charge=charge, read_price=0.1)
    budget = Budget(message=40, episode=400)
    settings = {"addressing": kind, "topology": ["chain", "complete"], "rounds": 4}
    check_env(lambda: make_env(reward=reward, budget=budget, **settings))


def test_an_unknown_kind_of_address_is_refused(make_env):
    with pytest.raises(UnknownNameError, match=r"env\.addressing 'roles'.*names, none, scopes"):
        make_env(addressing="roles")
