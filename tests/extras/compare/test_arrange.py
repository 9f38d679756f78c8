"""Configuration of an entry: equal budgets, own settings, fixed settings."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session.team_layouts import LayoutError
from laconic.extras.compare.arrange import arrange, budget_of, thoughts_of
from laconic.extras.compare.entries import Entry


@pytest.fixture
def composed():
    def call(*overrides):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose("compare", overrides=list(overrides))

    return call


NONE = {"agent": None, "round": None, "thought": None}


def caps(cfg):
    return {name: cap for name, cap in cfg.env.budget.items() if name != "_target_"}


def test_the_budget_of_an_episode_is_the_same_and_shared_out_over_the_messages(composed):
    cfg = composed()
    team = arrange(cfg, Entry("team"))
    assert caps(team) == {"message": 48, "episode": 192} | NONE
    # 192 tokens over 1, 6 and 7 messages.
    for layout, message in (("alone", 192), ("debate", 32), ("discussion", 27)):
        arranged = caps(arrange(cfg, Entry("one", layout=layout)))
        assert (arranged["message"], arranged["episode"]) == (message, 192), layout


def test_without_a_cap_on_episodes_the_budget_is_the_sum_of_the_caps_on_messages(composed):
    # Three helpers and a solver with 48 tokens each.
    assert budget_of(composed("env.budget.episode=null")) == 192
    assert budget_of(composed("env.budget.episode=null", "env.budget.message=null")) is None
    assert budget_of(composed("compare.budget=100")) == 100
    assert budget_of(composed("compare.equal=false")) is None


def test_budgets_stay_as_they_are_where_nothing_is_to_be_equal(composed):
    cfg = composed("compare.equal=false")
    assert caps(arrange(cfg, Entry("one", layout="alone"))) == caps(cfg)


def test_a_budget_too_small_for_the_messages_is_refused(composed):
    with pytest.raises(SettingError, match="is too small for the 6 messages of 'one'"):
        arrange(composed("compare.budget=5"), Entry("one", layout="debate"))


def test_an_entrys_own_settings_come_last_and_count_when_the_budget_is_shared_out(composed):
    cfg = composed()
    arranged = arrange(cfg, Entry("one", layout="debate", agents=4, env={"rounds": 3}))
    assert OmegaConf.to_container(arranged.env.team) == {"solver": 4}
    assert caps(arranged)["message"] == 192 // 12
    own = Entry("one", layout="alone", env={"budget": {"message": 7}, "team": {"solver": 1}})
    assert caps(arrange(cfg, own)) == {"message": 7, "episode": 192} | NONE


def test_thoughts_are_divided_over_messages_as_words_are(composed):
    # Three helpers and a solver with 10 tokens each: 40 over 1, 4, 6 and 7 messages.
    cfg = composed("env.budget.thought=10")
    assert thoughts_of(cfg) == 40 and thoughts_of(composed()) is None
    assert thoughts_of(composed("env.budget.thought=10", "compare.equal=false")) is None
    for layout, cap in (("alone", 40), ("team", 10), ("debate", 6), ("discussion", 5)):
        assert caps(arrange(cfg, Entry("one", layout=layout)))["thought"] == cap, layout
    wide = composed("env.budget.thought=1000", "+agent.sampling.thinking_tokens=64")
    assert arrange(wide, Entry("one", layout="alone")).agent.sampling.thinking_tokens == 4000


def test_a_policy_may_use_the_whole_message_unless_the_entry_says_otherwise(composed):
    cfg = composed()
    assert arrange(cfg, Entry("team")).agent.sampling.max_reply_tokens == 49
    assert arrange(cfg, Entry("one", layout="alone")).agent.sampling.max_reply_tokens == 193
    own = Entry("one", layout="alone", agent={"sampling": {"max_reply_tokens": 9}})
    assert arrange(cfg, own).agent.sampling.max_reply_tokens == 9
    wide = composed("env.budget.message=96")
    assert arrange(wide, Entry("team")).agent.sampling.max_reply_tokens == 97
    as_it_is = composed("compare.equal=false", "env.budget.message=96")
    assert arrange(as_it_is, Entry("team")).agent.sampling.max_reply_tokens == 49


def test_an_agent_with_a_target_replaces_the_comparisons_and_is_read_in_its_own_form(composed):
    cfg = composed()
    assert arrange(cfg, Entry("one")).env.instructions == "brief"
    agent = {"_target_": "laconic.learners.agents.hf.HFTeam", "model": "m"}
    arranged = arrange(cfg, Entry("one", agent=agent))
    assert OmegaConf.to_container(arranged.agent) == agent
    assert arranged.env.instructions == "full"


def test_scripts_read_the_same_form_as_the_comparisons_agent(composed):
    arranged = arrange(composed(), Entry("one", script="oracle"))
    assert (arranged.agent.script, arranged.env.instructions) == ("oracle", "brief")


def test_words_are_not_said_to_a_policy_that_reads_none(composed):
    entry = Entry("cot", layout="alone", say="Think.")
    with pytest.raises(LayoutError, match="reads no instructions"):
        arrange(composed(), entry)
    assert arrange(composed("agent=scripted", "env.instructions=full"), entry).entry.say == "Think."


def test_a_mixed_team_keeps_the_members_that_a_layout_has_roles_for(composed):
    cfg = composed("agent=mixed")
    assert set(arrange(cfg, Entry("team")).agent.members) == {"solver", "helper"}
    assert set(arrange(cfg, Entry("one", layout="alone")).agent.members) == {"solver"}


def test_environments_other_than_dialogues_are_not_rearranged(composed):
    cfg = composed("env._target_=some.where.Game")
    assert budget_of(cfg) is None
    assert arrange(cfg, Entry("one")).env.rounds == 2
    with pytest.raises(LayoutError, match="this is some.where.Game"):
        arrange(cfg, Entry("one", layout="alone"))


def test_there_is_no_vote_over_joint_work(composed):
    with pytest.raises(LayoutError, match="no vote over joint work"):
        arrange(composed("env=tldr", "agent=scripted"), Entry("one", layout="alone", votes=3))


def test_a_world_keeps_its_caps_and_takes_no_other_layout(composed):
    cfg = composed("env=boxnet")
    assert budget_of(cfg) is thoughts_of(cfg) is None
    scheme = arrange(cfg, Entry("cmas", env={"planning": "cmas", "view": "full"}))
    assert (scheme.env.planning, scheme.env.view) == ("cmas", "full")
    assert caps(scheme) == caps(cfg)
    for entry in (Entry("single", layout="alone"), Entry("votes", votes=3)):
        with pytest.raises(
            LayoutError, match="only a dialogue of envs.make can be .* this is boxnet"
        ):
            arrange(cfg, entry)
