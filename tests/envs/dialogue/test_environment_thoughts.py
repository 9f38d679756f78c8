"""Thoughts in a dialogue: private, counted, capped and priced.

The team: solver_0, helper_0 and helper_1; one character is one token.
"""

from __future__ import annotations

import numpy as np
import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.contract.text import TEXT_RULES
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import UNLIMITED, Budget
from laconic.envs.dialogue.messages import show
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import ContractError, SettingError
from laconic.envs.wrappers import DiscreteMessages, FullTranscript, TokenArrays

(RULE,) = (rule for rule in TEXT_RULES if rule.__name__ == "_thoughts")


def _say(env, *texts):
    return env.step(dict(zip(env.possible_agents, texts, strict=False)))


def _ledgers(infos, agent="solver_0"):
    info = infos[agent]
    return info["message"], info["tokens_said"], info["tokens_thought"], info["cut"]


def test_a_thought_is_counted_and_only_the_message_is_heard(start):
    observations, _, _, _, infos = _say(start(), "<think>abcd</think>xy", "<think>e</think>")
    assert _ledgers(infos) == ("xy", 2, 4, False)
    # A thought alone is silence.
    assert _ledgers(infos, "helper_0") == ("", 0, 1, False)
    assert observations["helper_1"]["text"] == "solver_0: xy"
    assert infos["helper_1"]["tokens_thought"] == 0


def test_a_thought_that_never_ends_says_nothing_and_its_tokens_count(start):
    observations, _, _, _, infos = _say(start(), "<think>abcd xy")
    assert _ledgers(infos) == ("", 0, 7, False)
    assert observations["helper_0"]["text"] == "Nobody spoke."


@pytest.mark.parametrize("message", ["xy", ""])
def test_who_thinks_beyond_the_cap_says_nothing_and_pays_up_to_it(start, message):
    env = start(budget=Budget(thought=3))
    assert env.metadata["thought_tokens"] == 3
    assert _ledgers(_say(env, "<think>abc</think>xy")[-1]) == ("xy", 2, 3, False)
    # The cap holds for every thought anew.
    assert _ledgers(_say(env, f"<think>abcd</think>{message}")[-1]) == ("", 2, 6, True)


def test_thoughts_use_up_no_budget_of_what_is_said(start):
    env = start(budget=Budget(message=3, agent=4, round=5, episode=6))
    observations, *_, infos = _say(env, "<think>abcdefghij</think>xyz")
    assert _ledgers(infos) == ("xyz", 3, 10, False)
    assert observations["solver_0"]["tokens_left"].tolist() == [1, 1, 5, 3]


def test_without_a_turn_or_with_nothing_left_to_say_no_thought_is_taken(start):
    env = start(schedule=["helper", "solver"], budget=Budget(agent=2))
    infos = _say(env, "<think>abc</think>x", "<think>ab</think>xyz")[-1]
    assert _ledgers(infos) == ("", 0, 0, True)
    assert _ledgers(infos, "helper_0") == ("xy", 2, 2, True)


def test_a_message_that_begins_with_a_marker_can_still_be_said(start):
    observations = _say(start(), "<think></think><think>a</think>")[0]
    assert observations["helper_0"]["text"] == "solver_0: <think>a</think>"


@pytest.mark.parametrize(("weight", "cost"), [(1.0, 0.6), (0.5, 0.4), (0.0, 0.2)])
def test_thoughts_cost_what_their_weight_says(start, weight, cost):
    # Two characters said and four thought, a tenth each.
    env = start(reward=Reward(price=1.0, normalizer=10.0, thought_weight=weight))
    rewards = _say(env, "", "<think>abcd</think>xy")[1]
    assert rewards == {"solver_0": 0.0, "helper_0": pytest.approx(-cost), "helper_1": 0.0}


def test_a_team_pays_for_the_thoughts_of_all(start):
    env = start(reward=Reward(price=1.0, normalizer=10.0, charge="team"))
    rewards = _say(env, "", "<think>ab</think>", "<think>c</think>")[1]
    assert list(rewards.values()) == pytest.approx([-0.3] * 3)


def test_thoughts_before_an_exempt_answer_are_charged(start):
    env = start(reward=Reward(price=1.0, normalizer=10.0))
    rewards = _say(env, "<think>3+4</think>#7")[1]
    # The answer earns 1 and its two characters are free.
    assert rewards["solver_0"] == pytest.approx(1.0 - 0.3)


def test_thoughts_of_unsolved_tasks_are_free_where_only_solved_ones_pay(start):
    settings = Reward(price=1.0, normalizer=10.0, when="solved")
    wrong = _say(start(reward=settings), "<think>ab</think>#8")[1]
    right = _say(start(reward=settings), "<think>ab</think>#7")[1]
    assert (wrong["solver_0"], right["solver_0"]) == (0.0, pytest.approx(0.8))


def test_a_round_of_nothing_but_thoughts_ends_the_episode(start):
    env = start()
    _say(env, "x")
    _, _, terminated, _, _ = _say(env, "<think>a</think>", "<think>b</think>")
    assert all(terminated.values())


def test_the_cap_is_among_the_rules_and_the_transcript_counts(start):
    env = start(budget=Budget(message=9, thought=7))
    text = env.reset(seed=0)[0]["solver_0"]["text"]
    assert "9 for a message, 7 for what you think before a message." in text
    _say(env, "<think>abc</think>xy", "z")
    assert show(env.messages).splitlines()[:2] == [
        "[0] solver_0 (2 + 3 thought): xy",
        "[0] helper_0 (1): z",
    ]


@pytest.mark.parametrize("wrong", [Budget, Reward])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SettingError, match=r"env.budget.thought|env.reward.thought_weight"):
        Budget(thought=0) if wrong is Budget else Reward(thought_weight=-0.1)


# Views


def test_views_pass_thoughts_on_and_count_them(make_env):
    arrays = TokenArrays(make_env(), action_tokens=32)
    assert arrays.metadata["thought_tokens"] == UNLIMITED
    arrays.reset(seed=0)
    ids = [byte + 1 for byte in b"<think>ab</think>xyz"]
    action = np.array(ids + [0] * (32 - len(ids)))
    _, _, _, _, infos = arrays.step({"solver_0": action})
    assert (infos["solver_0"]["tokens_said"], infos["solver_0"]["tokens_thought"]) == (3, 2)
    numbers = DiscreteMessages(make_env())
    _, infos = numbers.reset(seed=0)
    assert infos["solver_0"]["tokens_thought"] == 0


def test_a_transcript_has_no_thoughts_of_its_own_reader(make_env):
    env = FullTranscript(make_env())
    env.reset(seed=0)
    observations = env.step({"solver_0": "<think>secret</think>hello"})[0]
    assert "solver_0: hello" in observations["solver_0"]["text"]
    assert not any("secret" in observation["text"] for observation in observations.values())


# Contract


class Leaky(DialogueEnv):
    """Takes thoughts for words."""

    def _speak(self, actions):
        super()._speak(
            {a: text.replace("<think>", "").replace("</think>", " ") for a, text in actions.items()}
        )


class Noting(DialogueEnv):
    """Returns the received actions in its infos."""

    def step(self, actions):
        *rest, infos = super().step(actions)
        return *rest, {agent: info | {"raw": dict(actions)} for agent, info in infos.items()}


@pytest.mark.parametrize("kind", [Leaky, Noting])
def test_an_environment_that_lets_thoughts_out_is_found(make_env, kind):
    env = make_env()
    tasks = tuple(env.tasks.values())
    with pytest.raises(ContractError, match="a thought changes no observation"):
        RULE(lambda: kind(env.benchmark, tasks), seeds=[0])


def test_environments_that_take_no_thoughts_are_not_asked(make_env):
    class Plain(Leaky):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            del self.metadata["thought_tokens"]

    env = make_env()
    RULE(lambda: Plain(env.benchmark, tuple(env.tasks.values())), seeds=[0])


@pytest.mark.parametrize("cap", [None, 1, 40])
def test_the_contract_holds_with_thoughts(cap):
    check_env(lambda: envs.make("signal", free=True, tasks=3, budget={"thought": cap}), episodes=1)


def test_a_thought_is_booked_though_others_spend_the_shared_cap_in_the_same_round(start):
    # solver_0 is served first and uses up the round, or the episode; helper_0 thought all the same.
    for budget in (Budget(round=4), Budget(episode=4)):
        env = start(budget=budget, reward=Reward(price=1.0, normalizer=10))
        _, rewards, _, _, infos = _say(env, "abcd", "<think>xyz</think>ab")
        assert _ledgers(infos, "helper_0") == ("", 0, 3, True)
        assert (infos["helper_0"]["billed"], rewards["helper_0"]) == (0.1 * 3, 0.0 - 0.1 * 3)


def test_who_had_no_room_when_the_round_began_thinks_nothing(start):
    env = start(budget=Budget(agent=2))
    _say(env, "ab")
    assert _ledgers(_say(env, "<think>xyz</think>ab", "a")[-1]) == ("", 2, 0, True)
    # Out of turn.
    env = start(schedule=["helper", "solver"])
    assert _ledgers(_say(env, "<think>xyz</think>ab")[-1]) == ("", 0, 0, True)
