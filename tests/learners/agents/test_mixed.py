"""Teams of different members: who speaks for whom, whose tokens count, what is frozen and saved."""

from __future__ import annotations

import pytest
import torch

from laconic.envs.dialogue.roster import by_agent
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.session.run_state import save_policies
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.hf import HFPolicy, HFTeam
from laconic.learners.agents.lora import Lora
from laconic.learners.agents.mixed import MixedTeam
from laconic.learners.agents.scripted import ScriptedPolicy, ScriptedTeam
from laconic.learners.interfaces import Reply, Request

AGENTS = ["solver_0", "helper_0", "helper_1", "helper_2"]
ASKED = [Request("solver_0", text) for text in ("Hello", "How many birds?")]


def logits(policy: HFPolicy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model(input_ids=torch.arange(5, 25)[None]).logits


def stir(policy: HFPolicy, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in policy.model.parameters():
        if parameter.requires_grad:
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data.add_(noise, alpha=0.2)


@pytest.fixture
def other(make_policy, qwen_tokenizer, tmp_path) -> str:
    """Return a base model of another architecture with another tokenizer."""
    make_policy("qwen3", qwen_tokenizer).save(tmp_path / "other")
    return str(tmp_path / "other")


# Names


def test_an_agents_own_entry_comes_before_its_roles():
    values = {"helper": 1, "helper_1": 2}
    assert by_agent("x", values, AGENTS) == {"helper_0": 1, "helper_1": 2, "helper_2": 1}
    assert by_agent("x", {}, AGENTS) == {}


def test_names_of_nobody_are_refused_with_the_nearest_one(saved, make_env):
    with pytest.raises(UnknownNameError, match="agent.members 'helpr'. Did you mean 'helper'"):
        MixedTeam({"solver": ScriptedTeam(), "helpr": ScriptedTeam()}).policies(make_env())
    for team in (HFTeam(str(saved), "separate"), MixedTeam({"solver": HFTeam(str(saved))})):
        team.optimizer = {"solvr": {"lr": 1.0}}
        with pytest.raises(UnknownNameError, match=r"agent\.optimizer 'solvr'"):
            team.policies(make_env())


def test_agents_without_a_member_are_named(saved, make_env):
    team = MixedTeam({"solver": HFTeam(str(saved)), "helper_1": ScriptedTeam()})
    with pytest.raises(SettingError, match="no member for helper_0, helper_2"):
        team.policies(make_env())


@pytest.mark.parametrize("members", [{}, {"solver": None}, {"solver": {"model": "x"}}])
def test_members_must_be_builders(members):
    with pytest.raises(SettingError, match=r"agent\.members"):
        MixedTeam(members)


# Who speaks, and in whose tokens


def test_every_agent_has_the_policy_of_its_member(saved, other, make_env):
    members = {
        "solver": HFTeam(other),
        "helper": HFTeam(str(saved), frozen=True),
        "helper_1": ScriptedTeam("silent"),
    }
    policies = MixedTeam(members).policies(make_env())
    assert list(policies) == AGENTS
    assert policies["solver_0"].model.config.model_type == "qwen3"
    assert not policies["solver_0"].frozen and policies["helper_0"].frozen
    assert policies["helper_0"] is policies["helper_2"]
    assert isinstance(policies["helper_1"], ScriptedPolicy)


def test_separate_members_have_no_more_policies_than_agents(saved, make_env):
    team = MixedTeam({"solver": ScriptedTeam(), "helper": HFTeam(str(saved), "separate")})
    policies = team.policies(make_env())
    assert len({id(policies[agent]) for agent in AGENTS[1:]}) == 3


def test_budgets_are_counted_by_the_first_member_or_by_the_one_named(saved, other, qwen_tokenizer):
    members = {"solver": HFTeam(other), "helper": HFTeam(str(saved)), "judge": ScriptedTeam()}
    text = "Anna has 12 apples."
    assert list(MixedTeam(members).tokenize(text)) == list(tokenize_with(qwen_tokenizer)(text))
    by_helper = MixedTeam(members, counted_by="helper").tokenize(text)
    assert list(by_helper) == list(HFTeam(str(saved)).tokenize(text))
    assert len(MixedTeam(members, counted_by="judge").tokenize(text)) == 5
    with pytest.raises(UnknownNameError, match=r"agent\.counted_by 'helpers'"):
        MixedTeam(members, counted_by="helpers")


# Optimisers


def test_settings_reach_the_policies_of_their_agents(saved, make_env):
    own = {"helper": {"lr": 0.5}, "helper_1": {"lr": 0.25, "eps": 1e-6}}
    team = HFTeam(str(saved), "separate", optimizer=own)
    results = [policy.optimizer for policy in team.policies(make_env()).values()]
    assert results == [{}, {"lr": 0.5}, {"lr": 0.25, "eps": 1e-6}, {"lr": 0.5}]
    members = {"solver": HFTeam(str(saved)), "helper": HFTeam(str(saved))}
    mixed = MixedTeam(members, optimizer={"helper": {"lr": 0.5}}).policies(make_env())
    assert [mixed[agent].optimizer for agent in AGENTS[:2]] == [{}, {"lr": 0.5}]


def test_agents_who_share_weights_share_their_settings(saved, make_env):
    with pytest.raises(SettingError, match="'helper_0', who shares its weights"):
        HFTeam(str(saved), optimizer={"solver": {"lr": 0.5}}).policies(make_env())
    everybody = {"solver": {"lr": 0.5}, "helper": {"lr": 0.5}}
    team = HFTeam(str(saved), optimizer=everybody)
    assert team.policies(make_env())["helper_2"].optimizer == {"lr": 0.5}


@pytest.mark.parametrize("frozen", [True, False])
def test_settings_for_somebody_who_is_not_trained_are_refused(saved, make_env, frozen):
    helper = HFTeam(str(saved), frozen=True) if frozen else ScriptedTeam()
    team = MixedTeam({"solver": HFTeam(str(saved)), "helper": helper}, optimizer={"helper": {}})
    with pytest.raises(SettingError, match="'helper_0', who is not trained"):
        team.policies(make_env())


# Saving


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shared", "separate", "lora", "mixed"])
def test_what_a_training_leaves_gives_every_agent_the_same_logprobs(
    saved, other, make_env, tmp_path, kind
):
    if kind == "lora":
        pytest.importorskip("peft")

    def team(model: str | None) -> HFTeam | MixedTeam:
        if kind == "mixed":
            members = {
                "solver": HFTeam(other),
                "helper": HFTeam(str(saved)),
                "helper_1": HFTeam(other, frozen=True),
                "helper_2": ScriptedTeam("silent"),
            }
            return MixedTeam(members, model=model)
        return HFTeam(model or str(saved), kind, lora=Lora(rank=2))

    before = team(None).policies(make_env())
    trained = {id(value): value for value in before.values() if isinstance(value, HFPolicy)}
    for seed, policy in enumerate(trained.values()):
        stir(policy, seed)
    save_policies(before, tmp_path / "left")
    after = team(str(tmp_path / "left")).policies(make_env())
    for agent, policy in before.items():
        if isinstance(policy, HFPolicy):
            assert torch.equal(logits(after[agent]), logits(policy)), agent
            expected = policy.reply(ASKED, seed=3, greedy=False)
            assert after[agent].reply(ASKED, seed=3, greedy=False) == expected
            assert after[agent].frozen == policy.frozen
    names = {path.name for path in (tmp_path / "left").iterdir() if path.is_dir()}
    assert names == {
        "shared": set(), "separate": set(AGENTS), "lora": set(AGENTS),
        "mixed": {"solver_0", "helper_0"},
    }[kind]  # fmt: skip


def test_adapters_of_a_mixed_team_come_back(saved, make_env, tmp_path):
    pytest.importorskip("peft")

    def team(model: str | None = None) -> MixedTeam:
        helper = HFTeam(str(saved), "lora", lora=Lora(rank=2))
        return MixedTeam({"solver": HFTeam(str(saved), frozen=True), "helper": helper}, model=model)

    before = team().policies(make_env())
    for seed, agent in enumerate(AGENTS[1:]):
        stir(before[agent], seed)
    embeddings = {value.model.get_input_embeddings().weight.data_ptr() for value in before.values()}
    assert len(embeddings) == 1
    save_policies(before, tmp_path / "left")
    after = team(str(tmp_path / "left")).policies(make_env())
    for agent in AGENTS:
        assert torch.equal(logits(after[agent]), logits(before[agent]))


def test_a_folder_that_is_not_there_is_refused(saved, make_env):
    team = MixedTeam({"solver": HFTeam(str(saved)), "helper": ScriptedTeam()}, model="/nowhere")
    with pytest.raises(SettingError, match=r"agent\.model must be.*got '/nowhere'"):
        team.policies(make_env())


def test_members_of_any_kind_see_their_own_agents_alone(make_env):
    class Parrot:
        def tokenize(self, text):
            return text.split()

        def policies(self, environment):
            assert environment.tasks and environment.possible_agents == AGENTS[1:]
            return dict.fromkeys(environment.possible_agents, self)

        def reply(self, requests, *, seed, greedy):
            return [Reply("7") for _ in requests]

    parrot = Parrot()
    policies = MixedTeam({"solver": ScriptedTeam(), "helper": parrot}).policies(make_env())
    assert [policies[agent] is parrot for agent in AGENTS] == [False, True, True, True]


def test_a_script_may_be_shown_further_tasks_but_no_other_one_of_the_same_key(make_env):
    tasks = make_env().tasks
    first = {"fruit": tasks["fruit"]}
    script = ScriptedPolicy(lambda task, request, generator: task.answer, first)
    script.know(tasks)
    requests = [Request("helper_0", "", info={"task": key}) for key in ("fruit", "birds")]
    assert [reply.message for reply in script.reply(requests, seed=0, greedy=True)] == ["7", "13"]
    with pytest.raises(SettingError, match="both have 'fruit'"):
        script.know({"fruit": tasks["birds"]})
