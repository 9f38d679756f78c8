"""Messages of scripts; a scripted agent that answers knows only the statements it has read."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task
from laconic.learners.agents.scripted import NAMES, SCRIPTS, ScriptedPolicy, ScriptedTeam, Teacher
from laconic.learners.interfaces import Policy, Reply, Request
from laconic.learners.rollout.play import Start, play


def episode_of(env, script: str = "oracle", *, key: str = "fruit", seed: int = 0):
    policies = ScriptedTeam(script).policies(env)
    return play([env], policies, [Start(seed, key)], seed=seed)[0]


def asked(env, agent: str, **info) -> Request:
    """Return the request of an agent at the start of an episode about fruit."""
    observations, infos = env.reset(seed=0, options={"task": "fruit"})
    return Request(agent, observations[agent]["text"], info={**infos[agent], **info})


@pytest.fixture
def env(make_env):
    """Return a team of a solver and three helpers that each have a statement about fruit."""
    return make_env(information="split", rounds=2)


@pytest.mark.parametrize("script", sorted(NAMES))
def test_every_script_is_a_policy_that_plays_to_the_end(make_env, script):
    for information in ("split", "full"):
        env = make_env(information=information, rounds=3)
        policies = ScriptedTeam(script).policies(env)
        assert isinstance(policies["solver_0"], Policy)
        assert len({id(policy) for policy in policies.values()}) == 1
        episodes = play([env], policies, [Start(n) for n in range(9)], seed=0)
        assert all(not turn.reply_ids for episode in episodes for turn in episode.turns)


@pytest.mark.parametrize("script", sorted(NAMES))
def test_scripts_are_a_function_of_the_seed(env, script):
    policy = ScriptedTeam(script).policies(env)["solver_0"]
    requests = [asked(env, agent) for agent in env.possible_agents] * 3
    once = policy.reply(requests, seed=4, greedy=False)
    random.seed(99)
    assert once == policy.reply(requests, seed=4, greedy=True)
    if script in ("random", "verbose"):
        assert once != policy.reply(requests, seed=5, greedy=False)


def test_an_oracle_team_says_what_matters_once_and_solves(env):
    for seed in range(5):
        episode = episode_of(env, seed=seed)
        messages = {turn.message for turn in episode.turns if turn.message}
        assert messages == {"There are 3 apples.", "There are 4 pears.", "#### 7"}
        assert episode.solved and episode.answer == "7"


def test_an_oracle_does_not_repeat_itself(make_env):
    # Nobody hears anybody, so the solver never answers and the helpers are asked again.
    env = make_env(information="split", rounds=3, topology="none")
    turns = episode_of(env).turns
    rounds = [turn.round for turn in turns if turn.message and turn.agent != "solver_0"]
    assert rounds == [0, 0]


def test_a_verbose_team_says_all_it_knows_in_many_words_and_solves(env):
    episode = episode_of(env, "verbose")
    text = " ".join(turn.message for turn in episode.turns if turn.round == 0)
    assert all(fact in text for fact in ("There are 3 apples.", "It rains.", "There are 4 pears."))
    assert episode.solved
    terse = episode_of(env)
    assert sum(episode.tokens_said.values()) > 2 * sum(terse.tokens_said.values())


def test_a_verbose_agent_with_nothing_to_say_says_so_at_length(make_env):
    env = make_env(information="split")
    idle = [
        turn
        for turn in episode_of(env, "verbose", key="unknown").turns
        if "nothing at all." in turn.message
    ]
    assert idle and all(turn.message for turn in idle)


def test_a_silent_team_says_nothing_and_solves_nothing(env):
    episode = episode_of(env, "silent")
    assert not any(turn.message for turn in episode.turns)
    assert not episode.solved and sum(episode.tokens_said.values()) == 0


def test_random_agents_sometimes_answer(env):
    episodes = [episode_of(env, "random", seed=seed) for seed in range(10)]
    assert any("####" in turn.message for episode in episodes for turn in episode.turns)
    assert any(not turn.message for episode in episodes for turn in episode.turns)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", False),
        ("helper_0: There are 3 apples.", False),
        ("helper_0: There are 3 apples.\nhelper_2: There are 4 pears.", True),
        ("helper_0: Well, There are 4 pears. There are 3 apples. Bye.", True),
        ("helper_0: There are 3 appl\nhelper_2: There are 4 pears.", False),
    ],
)
def test_a_scripted_solver_is_right_exactly_when_all_that_matters_was_said(env, text, complete):
    policy = ScriptedTeam().policies(env)["solver_0"]
    first = asked(env, "solver_0")
    later = Request(
        "solver_0", text, history=(Reply(""),), texts=(first.text,), info={**first.info}
    )
    expected = "#### 7" if complete else ""
    assert policy.reply([later], seed=0, greedy=False)[0].message == expected
    hopeless = Request("solver_0", text, info={**first.info, "round": 1})
    expected = "#### 7" if complete else "#### ?"
    assert policy.reply([hopeless], seed=0, greedy=False)[0].message == expected


def test_what_was_heard_in_earlier_rounds_counts_too(env):
    policy = ScriptedTeam().policies(env)["solver_0"]
    request = Request(
        "solver_0",
        "There are 4 pears.",
        texts=("How many?", "There are 3 apples."),
        history=(Reply(""), Reply("")),
        info=asked(env, "solver_0").info,
    )
    assert policy.reply([request], seed=0, greedy=False)[0].message == "#### 7"


def test_what_an_answerer_holds_itself_need_not_be_said(make_env):
    env = make_env(information="full")
    turns = episode_of(env).turns
    assert [turn.message for turn in turns if turn.agent == "solver_0"] == ["#### 7"]


def test_without_relevance_flags_everything_matters(env):
    policy = ScriptedTeam().policies(env)["solver_0"]
    info = {**asked(env, "solver_0").info, "task": "unknown"}
    for text, expected in (("nothing", ""), ("Add two and two.", "#### 4")):
        request = Request("solver_0", text, info=info)
        assert policy.reply([request], seed=0, greedy=False)[0].message == expected


# The teacher


def shares_of(teacher: Teacher, env, request: Request, count: int = 4000) -> dict[str, float]:
    """Return how often the teacher is silent, terse and wordy for one request."""
    policy = ScriptedPolicy(teacher, env.tasks)
    replies = policy.reply([request] * count, seed=1, greedy=False)
    terse = " ".join(env.tasks["fruit"].statements[index] for index in request.info["share"])
    messages = [reply.message for reply in replies]
    silent, plain = messages.count(""), messages.count(terse) if terse else 0
    return {
        "silent": silent / count,
        "terse": plain / count,
        "wordy": (count - silent - plain) / count,
    }


@pytest.mark.parametrize(("informed", "silence"), [(True, 0.05), (None, 0.05), (False, 0.25)])
def test_the_teacher_mixes_its_manners_in_the_shares_it_names(env, informed, silence):
    """4,000 messages: every share is within 0.03, which is 4 standard deviations and more."""
    request = asked(env, "helper_0", informed=informed)
    result = shares_of(Teacher(), env, request)
    expected = {"silent": silence, "terse": (1 - silence) * 0.2, "wordy": (1 - silence) * 0.8}
    assert result == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("teacher", "manner"),
    [
        (Teacher(terse=1.0, silent_informed=0.0), "terse"),
        (Teacher(terse=0.0, silent_informed=0.0), "wordy"),
        (Teacher(silent_informed=1.0), "silent"),
    ],
)
def test_a_teacher_of_one_manner_has_no_other(env, teacher, manner):
    result = shares_of(teacher, env, asked(env, "helper_0", informed=True), count=50)
    assert result[manner] == 1.0


def test_a_teacher_team_that_never_keeps_still_solves(env):
    policy = ScriptedPolicy(Teacher(silent_informed=0.0, silent_uninformed=0.0), env.tasks)
    team = dict.fromkeys(env.possible_agents, policy)
    episodes = play([env], team, [Start(seed, "fruit") for seed in range(8)], seed=0)
    assert all(episode.solved for episode in episodes)


@pytest.mark.parametrize("bare", [0.0, 1.0])
def test_a_bare_teacher_answers_without_its_working(env, bare):
    teacher = Teacher(silent_informed=0.0, silent_uninformed=0.0, bare=bare)
    team = dict.fromkeys(env.possible_agents, ScriptedPolicy(teacher, env.tasks))
    for episode in play([env], team, [Start(seed, "fruit") for seed in range(4)], seed=0):
        answer = [turn.message for turn in episode.turns if turn.agent == "solver_0"][-1]
        assert episode.solved and (answer == env.tasks["fruit"].answer_text) == bool(bare)


@pytest.mark.parametrize("calculated", [0.0, 1.0])
def test_a_calculating_teacher_does_not_repeat_the_facts(env, calculated):
    task = replace(env.tasks["fruit"], solution="4 + 3 = 7")
    text = replace(asked(env, "solver_0"), text=" ".join(task.statements))
    for seed in range(9):
        answer = Teacher(calculated=calculated)(task, text, random.Random(seed))
        assert answer.endswith(f"4 + 3 = 7 {task.answer_text}")
        assert (answer == f"4 + 3 = 7 {task.answer_text}") == bool(calculated)


# Settings


def test_an_unknown_script_is_refused_with_the_nearest_name(env):
    with pytest.raises(UnknownNameError, match="'oracle'"):
        ScriptedTeam("oracel").policies(env)


def test_an_environment_without_tasks_has_nothing_to_follow():
    class Wordless(ParallelEnv):
        possible_agents = ["a_0"]

    with pytest.raises(SettingError, match="Wordless, where only random and silent can play"):
        ScriptedTeam().policies(Wordless())
    Wordless.tasks = {"1": 1}
    with pytest.raises(SettingError, match="Wordless"):
        ScriptedTeam("verbose").policies(Wordless())
    requests = [Request(agent="a_0", text="?", info={"task": "1"}), Request(agent="a_0", text="?")]
    (policy,) = ScriptedTeam("silent").policies(Wordless()).values()
    assert [reply.message for reply in policy.reply(requests, seed=0, greedy=False)] == ["", ""]
    (policy,) = ScriptedTeam("random").policies(Wordless()).values()
    assert any(reply.message for reply in policy.reply(requests * 9, seed=0, greedy=False))


@pytest.mark.parametrize("frames", [0, 4, -1])
def test_a_teacher_needs_a_wording_that_there_is(frames):
    with pytest.raises(
        SettingError, match=rf"learner\.collect\.teacher\.frames must be from 1 to 3; got {frames}"
    ):
        Teacher(frames=frames)


def test_with_one_frame_all_wordy_messages_of_a_fact_are_alike(env):
    request = asked(env, "helper_0", informed=True)
    policy = ScriptedPolicy(Teacher(terse=0.0, silent_informed=0.0, frames=1), env.tasks)
    replies = policy.reply([request] * 50, seed=1, greedy=False)
    assert len({reply.message for reply in replies}) == 1


DRAFTS = {"solver": ("good", "fair", "bad"), "helper": ("best",)}


def drafted(script, agent="solver_0", history=()):
    """Return a script's message for joint work with drafts."""
    task = Task("fruit", "Write.", (), "", drafts=DRAFTS)
    request = Request(agent, "Write.", history=history, info={"task": "fruit", "answering": True})
    policy = ScriptedPolicy(script, {"fruit": task})
    return policy.reply([request], seed=0, greedy=False)[0].message


def test_of_drafts_an_oracle_writes_the_best_and_a_verbose_agent_the_last():
    assert drafted(SCRIPTS["oracle"]) == "good"
    assert drafted(SCRIPTS["verbose"]) == "bad"
    assert drafted(SCRIPTS["oracle"], "helper_0") == "best"
    assert drafted(SCRIPTS["oracle"], "critic_0") == ""


def test_a_draft_that_was_written_is_let_stand():
    assert drafted(SCRIPTS["oracle"], history=(Reply("good"),)) == ""
    assert drafted(SCRIPTS["oracle"], history=(Reply(""),)) == "good"


def test_a_teacher_writes_the_best_draft_so_often_and_any_otherwise():
    task = Task("fruit", "Write.", (), "", drafts=DRAFTS)
    request = Request("solver_0", "Write.", info={"task": "fruit", "answering": True})
    generator = random.Random(0)
    teacher = Teacher(best=0.4)
    counts = Counter(teacher(task, request, generator) for _ in range(3_000))
    # 0.4 + 0.6 / 3 and 0.6 / 3; five standard deviations are about 0.046.
    assert abs(counts["good"] / 3_000 - 0.6) < 0.046
    assert abs(counts["fair"] / 3_000 - 0.2) < 0.046
    assert {teacher(task, request, generator) for teacher in [Teacher(best=1)] * 50} == {"good"}


def test_a_telegraph_team_solves_with_fewer_words_and_nobody_else_understands_it(env):
    short, whole = episode_of(env, "telegraph"), episode_of(env)
    assert short.solved and whole.solved
    messages = {turn.message for turn in short.turns if turn.agent != "solver_0" and turn.message}
    # `There are 3 apples.` and `There are 4 pears.` differ from all others in one word.
    assert all(len(message.split()) == 1 for message in messages) and len(messages) == 2
    assert sum(short.tokens_said.values()) < sum(whole.tokens_said.values())
    policies = ScriptedTeam("telegraph").policies(env) | {
        "solver_0": ScriptedTeam("oracle").policies(env)["solver_0"]
    }
    (deaf,) = play([env], policies, [Start(0, "fruit")], seed=0)
    assert not deaf.solved
