"""Options of a team: the environment names none, and a new one takes a class alone."""

from __future__ import annotations

import inspect
import re

import pytest
from places import ROOT

from laconic import envs
from laconic.envs.dialogue import DialogueEnv, chosen
from laconic.envs.dialogue.addressing import Recipients
from laconic.envs.dialogue.by_reply import LinksByReply
from laconic.envs.dialogue.channel import Transmission
from laconic.envs.dialogue.chosen import DialogueOptions, TeamOptions
from laconic.envs.dialogue.faults import Faults
from laconic.envs.dialogue.option import Option, option_of

PLAIN = {"free": True, "tasks": 4, "information": "split", "topology": "complete", "rounds": 3}
NAMES = {
    *("channel", "transmission", "fault", "faults", "faulty", "address", "addresses", "addressing"),
    *("audience", "by_reply", "mute", "parrot"),
    *("edge", "edges", "gate", "gates", "hindsight", "sdpo", "rlccf", "at_grpo", "population"),
}
"""Words of the options that there are, and of rare methods."""


FILES = [f"envs/dialogue/{name}.py" for name in ("team", "environment", "option", "briefing")]
FILES += ["learners/algorithms/group.py", "learners/rollout/collectors/base.py"]


@pytest.mark.parametrize("file", FILES)
def test_neither_environments_nor_learners_name_an_option(file):
    # `TheWord` and `the_word` are one word, and so are their parts.
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", (ROOT / file).read_text("utf-8")).lower()
    words = {*re.findall(r"[a-z_]+", text), *re.findall(r"[a-z]+", text)}
    assert words & {"option", "collector"} and words & NAMES == set()


class Doubt(Option):
    """The helpers hear one another alone, say that they doubt, and each message counts."""

    rule = " Helpers doubt."

    def start(self, team, generator):
        self.said = 0
        return super().start(team, generator)

    def brief(self, parts, shares):
        return {agent: (f"{known} Doubt it.", asked) for agent, (known, asked) in parts.items()}

    def act(self, actions, free):
        free["helper_0"] = len(self.team.tokenize("Hm."))
        return {**actions, "helper_0": f"Hm. {actions.get('helper_0', '')}"}

    def link(self, linked):
        helpers = {agent for agent in linked if agent.startswith("helper")}
        return {
            agent: tuple(each for each in speakers if agent in helpers and each in helpers)
            for agent, speakers in linked.items()
        }

    def loses(self, message, listener):
        return listener == "helper_1"

    def deliver(self, texts):
        self.said += sum(bool(message.text) for message in self.team.latest.values())
        return {agent: f"{text} ({len(self.team.heard[agent])})" for agent, text in texts.items()}

    def info(self, agent):
        return {"doubt": self.said}

    def measures(self):
        return {"doubts": float(self.said)}


def test_an_option_of_ones_own_takes_part_without_a_change_elsewhere():
    env = envs.make("gsm8k", **PLAIN, reward={"price": 1.0, "normalizer": 1.0, "read_price": 1.0})
    plain, _ = env.reset(seed=3)
    env.options = (*env.options, doubt := Doubt())
    observations, _ = env.reset(seed=3)
    for agent, observation in observations.items():
        assert observation["text"] != plain[agent]["text"] and "Doubt it." in observation["text"]
    texts, rewards, _, _, infos = env.step({"helper_0": "I know 5"})
    assert texts["helper_2"]["text"] == "helper_0: Hm. I know 5 (2)"
    assert texts["solver_0"]["text"].endswith("(0)")
    # Its own words are free: "I", " know" and " 5" of five tokens cost. Two helpers could read
    # them, and one lost them.
    assert rewards["helper_0"] == -3.0 and rewards["helper_2"] == -5.0
    assert rewards["helper_1"] == rewards["solver_0"] == 0.0
    assert infos["solver_0"]["doubt"] == 1
    while env.agents:
        *_, infos = env.step({})
    assert infos["solver_0"]["measures"]["doubts"] == 3.0 == doubt.said


def test_an_option_that_is_off_or_stays_out_is_not_asked():
    env = envs.make("gsm8k", **PLAIN)
    before = env.reset(seed=3)[0]
    options = env.options
    for change in ({"on": False}, {"start": lambda *_: False}):
        doubt = Doubt()
        vars(doubt).update(change)
        env.options = (*options, doubt)
        after = env.reset(seed=3)[0]
        assert {a: o["text"] for a, o in after.items()} == {a: o["text"] for a, o in before.items()}


def test_options_are_found_by_class_and_act_in_one_order():
    env = envs.make("gsm8k", tasks=4, topology={"kind": "by_reply"})
    order = [LinksByReply, Transmission, Recipients, Faults]
    assert [type(option) for option in env.options] == order
    assert [option.on for option in env.options] == [True, False, False, False]
    assert option_of(env, Recipients) is env.options[2]
    world = envs.make("commons", tasks=4)
    assert option_of(world, Faults) is option_of(world, LinksByReply) is None
    assert option_of(object(), Recipients) is None
    assert len(chosen.team_options(TeamOptions(), "ring", world._roster, world.reward)) == 2


def test_the_signature_lists_the_settings_of_options():
    signature = inspect.signature(DialogueEnv)
    fields = inspect.signature(DialogueOptions).parameters
    assert {*fields} == {"addressing", "channel", "fault"}
    for name, field in fields.items():
        assert signature.parameters[name].default == field.default
    with pytest.raises(TypeError, match="chanel"):
        DialogueEnv(envs.benchmark("gsm8k"), [], chanel=None)
