"""Dialogues in which all agents write one piece of work, round by round, and hear of its grade.

The score of this hand-made benchmark is the number of different letters in all texts, and a work is
solved with four of them. One character is one token.
"""

from __future__ import annotations

import pytest

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.messages import REVISE
from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Benchmark, Score, Task

TASK = Task("letters", "Write letters.", (), "")


class Letters(Benchmark):
    name = "letters"
    roles = ("first", "second")
    goal = "Write different letters."
    duties = {}
    answer_form = "Any letters."

    def load(self, path, split="evaluation"):
        return (TASK,)

    def generate(self, seed, count, *, split="train", **settings):
        return (TASK,)

    def score(self, task, answers):
        letters = set("".join(answers.values()))
        return Score(float(len(letters)), len(letters) >= 4, "".join(sorted(letters)))

    def committed(self, message):
        return None

    def findings(self, task, score, agents):
        return {agents[0]: f"{score.value:g} letters."}


class Unlevelled(Letters):
    findings = Benchmark.findings


def make(benchmark=None, rounds=3, topology="none", **settings):
    env = DialogueEnv(
        benchmark or Letters(),
        (TASK,),
        team={"first": 1, "second": 1},
        rounds=rounds,
        topology=topology,
        answer="joint",
        tokenize=list,
        **settings,
    )
    env.reset(seed=0)
    return env


def say(env, *texts):
    return env.step(dict(zip(env.possible_agents, texts, strict=True)))


def told(returned):
    return [observation["text"] for observation in returned[0].values()]


def test_what_all_wrote_last_is_graded_at_the_end():
    env = make(rounds=2)
    assert list(say(env, "ab", "bc")[1].values()) == [0.0, 0.0]
    _, rewards, terminated, _, infos = say(env, "abd", "x")
    # a, b, d of the first and x of the second; what the second wrote before is replaced.
    assert list(rewards.values()) == [4.0, 4.0]
    assert all(terminated.values()) and infos["first_0"]["answer"] == "abdx"


def test_paid_by_the_round_each_round_pays_the_score_so_far_less_its_own_price():
    env = make(reward=Reward(price=1.0, normalizer=10, paid="round"))
    assert list(say(env, "ab", "bc")[1].values()) == pytest.approx([3 - 0.2, 3 - 0.2])
    assert list(say(env, "", "bcd")[1].values()) == pytest.approx([4.0, 4 - 0.3])
    assert list(say(env, "a", "")[1].values()) == pytest.approx([4 - 0.1, 4.0])


def test_a_price_for_solved_episodes_falls_due_at_the_end_of_one_paid_by_the_round():
    env = make(rounds=2, reward=Reward(price=1.0, normalizer=10, paid="round", when="solved"))
    assert list(say(env, "abcd", "")[1].values()) == [4.0, 4.0]
    assert list(say(env, "", "e")[1].values()) == pytest.approx([5 - 0.4, 5 - 0.1])


def test_silence_lets_stand_what_was_written():
    env = make()
    say(env, "ab", "cd")
    _, rewards, terminated, _, infos = say(env, "", "")
    assert all(terminated.values())
    assert (infos["first_0"]["score"], infos["first_0"]["solved"]) == (4.0, True)
    assert infos["first_0"]["tokens_said"] == 2


def test_an_episode_stops_at_a_score_that_is_good_enough():
    env = make(stop_at=3)
    assert not any(say(env, "a", "b")[2].values())
    assert all(say(env, "ab", "c")[2].values())
    assert env.agents == []


def test_a_score_that_is_good_enough_earns_the_rounds_that_it_saves():
    stopped = make(stop_at=3, reward=Reward(paid="round"))
    assert list(say(stopped, "a", "b")[1].values()) == [2.0, 2.0]
    # 3 for the second round, and 3 for the third: no more is to be had by staying below 3.
    assert list(say(stopped, "ab", "c")[1].values()) == [6.0, 6.0]
    # A budget that is spent saves no rounds.
    spent = make(reward=Reward(paid="round"), budget=Budget(episode=4))
    _, rewards, terminated, _, infos = say(spent, "ab", "cd")
    assert infos["first_0"]["ended_by"] == "budget"
    assert all(terminated.values()) and list(rewards.values()) == [4.0, 4.0]


def test_every_round_tells_its_score_where_it_is_graded_and_only_there():
    graded = make(reward=Reward(paid="round"))
    assert say(graded, "a", "b")[4]["first_0"]["score"] == 2.0
    assert "score" not in say(make(), "a", "b")[4]["first_0"]


def test_no_feedback_says_nothing():
    assert told(say(make(), "a", "b")) == ["Nobody spoke.", "Nobody spoke."]
    feedback = told(say(make(topology="complete"), "a", "b"))
    assert feedback == ["second_0: b", "first_0: a"]


def test_plain_feedback_asks_for_a_revision_after_every_round_but_the_last():
    env = make(rounds=2, feedback="plain")
    assert told(say(env, "a", "b")) == [REVISE, REVISE]
    assert told(say(env, "a", "b")) == ["Nobody spoke.", "Nobody spoke."]


def test_feedback_comes_after_what_was_heard():
    env = make(feedback="plain", topology="complete")
    assert told(say(env, "a", "b")) == [f"second_0: b\n{REVISE}", f"first_0: a\n{REVISE}"]
    assert told(say(env, "a", ""))[0] == f"Nobody spoke.\n{REVISE}"


def test_level_feedback_says_what_the_benchmark_found():
    env = make(feedback="level")
    assert told(say(env, "ab", "bc")) == [f"3 letters.\n{REVISE}", REVISE]


def test_an_expert_is_asked_with_the_task_and_what_was_written():
    calls = []

    def expert(task, written):
        calls.append((task.key, dict(written)))
        return {"second_0": "Try z."}

    env = make(feedback="expert", expert=expert)
    # A step waits for the expert.
    assert env.metadata["slow_step"] and not make(feedback="plain").metadata["slow_step"]
    assert told(say(env, "ab", "")) == [REVISE, f"Expert: Try z.\n{REVISE}"]
    assert calls == [("letters", {"first_0": "ab"})]


def test_infos_hold_the_comment_alone():
    env = make(feedback="plain", topology="complete", rounds=2)
    _, infos = env.reset(seed=0)
    assert all("feedback" not in info for info in infos.values())
    _, _, _, _, infos = say(env, "a", "b")
    comments = {info["feedback"] for info in infos.values()}
    assert len(comments) == 1 and "second_0" not in comments.pop()
    # After the end nothing is left to comment on.
    _, _, _, _, infos = env.step(dict.fromkeys(env.agents, "c"))
    assert not env.agents and all("feedback" not in info for info in infos.values())


def test_feedback_is_read_and_counted():
    _, _, _, _, infos = say(env := make(feedback="plain"), "a", "b")
    first = env.possible_agents[0]
    before = make().ledger.read[first]
    assert infos[first]["tokens_read"] == before + len(REVISE)


def test_feedback_that_nobody_can_give_is_refused():
    with pytest.raises(SettingError, match="expert needs env.expert"):
        make(feedback="expert")
    with pytest.raises(SettingError, match="'letters' does not, so choose plain or none"):
        make(Unlevelled(), feedback="level")
    with pytest.raises(UnknownNameError, match="Did you mean 'level'"):
        make(feedback="levels")


@pytest.mark.parametrize("stop_at", ["1", True, float("nan"), [1]])
def test_a_stop_that_is_no_number_is_refused(stop_at):
    with pytest.raises(SettingError, match=r"env\.stop_at must be null or a finite number"):
        make(stop_at=stop_at)


def test_budgets_hold_for_a_joint_work_too():
    env = make(budget=Budget(message=3, episode=5))
    infos = say(env, "abcd", "efgh")[4]
    assert [info["message"] for info in infos.values()] == ["abc", "ef"]
