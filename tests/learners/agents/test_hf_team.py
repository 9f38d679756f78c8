"""Teams of policies: shared and separate, saved, loaded, and of the type that was asked for."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.hf import HFPolicy, HFTeam
from laconic.learners.interfaces import Request


def request(text: str = "How many?", **fields) -> Request:
    return Request(**{"agent": "solver_0", "text": text, "max_tokens": 12, **fields})


def state(policy: HFPolicy) -> dict[str, torch.Tensor]:
    return policy.model.state_dict()


def test_an_unknown_way_of_sharing_is_refused():
    with pytest.raises(UnknownNameError, match="agent.sharing"):
        HFTeam("anything", sharing="seperate")


def test_shared_policies_are_one_object(saved, make_env):
    policies = HFTeam(str(saved)).policies(make_env())
    assert list(policies) == ["solver_0", "helper_0", "helper_1", "helper_2"]
    assert len({id(policy) for policy in policies.values()}) == 1


def test_separate_policies_are_alike_at_first_and_apart_afterwards(saved, make_env):
    policies = HFTeam(str(saved), sharing="separate").policies(make_env())
    assert len({id(policy.model) for policy in policies.values()}) == 4
    first, second = policies["solver_0"], policies["helper_0"]
    for name, tensor in state(first).items():
        assert torch.equal(tensor, state(second)[name])
        assert tensor.data_ptr() != state(second)[name].data_ptr()
    requests = [request("Hello")] * 3
    assert first.reply(requests, seed=1, greedy=False) == second.reply(
        requests, seed=1, greedy=False
    )
    with torch.no_grad():
        next(first.model.parameters()).add_(1.0)
    assert not torch.equal(next(iter(state(first).values())), next(iter(state(second).values())))


@pytest.fixture
def apart(saved, make_env, tmp_path):
    """Four separate policies, made different and saved: their folder, and themselves."""
    policies = HFTeam(str(saved), sharing="separate").policies(make_env())
    for index, policy in enumerate(policies.values()):
        with torch.no_grad():
            for parameter in policy.model.parameters():
                parameter.mul_(1 + 0.1 * index)
    for agent, policy in policies.items():
        policy.save(tmp_path / "apart" / agent)
    return tmp_path / "apart", policies


def test_separate_policies_come_back_each_to_its_agent(apart, make_env):
    folder, policies = apart
    back = HFTeam(str(folder), sharing="separate").policies(make_env())
    requests = [request("Hello"), request("How many birds?")]
    records = set()
    for agent, policy in policies.items():
        expected = policy.reply(requests, seed=2, greedy=False)
        assert back[agent].reply(requests, seed=2, greedy=False) == expected
        records.add(expected[0].behavior_logprobs)
    assert len(records) == 4


def test_a_home_folder_is_written_with_a_tilde(apart, make_env, monkeypatch):
    folder, policies = apart
    monkeypatch.setenv("HOME", str(folder.parent))
    back = HFTeam("~/apart", sharing="separate").policies(make_env())
    for agent, policy in policies.items():
        assert torch.equal(*(next(iter(state(each).values())) for each in (policy, back[agent])))
    assert HFTeam("~/model").policies(make_env())


def test_separate_policies_are_not_taken_for_a_shared_one(apart, make_env):
    with pytest.raises(SettingError, match="agent.sharing=separate"):
        HFTeam(str(apart[0])).policies(make_env())
    policies = HFTeam(str(apart[0] / "helper_1")).policies(make_env())
    assert len({id(policy) for policy in policies.values()}) == 1


def test_separate_policies_of_other_agents_are_refused(apart, make_env):
    larger = make_env(team={"solver": 1, "helper": 5})
    with pytest.raises(SettingError, match="helper_4"):
        HFTeam(str(apart[0]), sharing="separate").policies(larger)
    smaller = make_env(team={"solver": 1, "helper": 1})
    assert list(HFTeam(str(apart[0]), sharing="separate").policies(smaller)) == [
        "solver_0",
        "helper_0",
    ]


def test_what_is_saved_loads_with_stock_transformers(make_policy, architecture, tmp_path):
    policy = make_policy(architecture)
    policy.save(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([policy.tokenizer.encode("Anna has 12 apples.")])
    assert torch.equal(model(input_ids=ids).logits, policy.model(input_ids=ids).logits)
    assert model.generation_config.eos_token_id == [1, 4]


def test_the_tiny_tokenizer_comes_back_as_it_was(saved, tiny_tokenizer):
    tokenizer = AutoTokenizer.from_pretrained(saved)
    text = "Anna has 12 apples, 345 in all.\n<silence> é_<end>"
    assert tokenizer.encode(text) == tiny_tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.chat_template == tiny_tokenizer.chat_template
    assert set(tokenizer.all_special_tokens) == set(tiny_tokenizer.all_special_tokens)


def test_budgets_are_counted_in_the_models_tokens(saved, tiny_tokenizer):
    team, text = HFTeam(str(saved)), "Anna has 12 apples."
    assert list(team.tokenize(text)) == list(tokenize_with(tiny_tokenizer)(text))
    assert team.tokenize is team.tokenize


@pytest.mark.parametrize(
    ("precision", "expected"),
    [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)],
)
def test_weights_have_the_type_that_was_asked_for(saved, make_env, precision, expected):
    policy = HFTeam(str(saved), precision=precision).policies(make_env())["solver_0"]
    assert policy.model.dtype == expected
    reply = policy.reply([request()], seed=0, greedy=False)[0]
    assert all(logprob <= 0 for logprob in reply.behavior_logprobs)


@pytest.mark.gpu
def test_a_gpu_is_used_where_there_is_one_and_its_generator_is_left_alone(saved, make_env):
    policy = HFTeam(str(saved)).policies(make_env())["solver_0"]
    assert policy.device.type == "cuda"
    torch.cuda.manual_seed(7)
    expected = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(7)
    once = policy.reply([request()], seed=3, greedy=False)
    assert torch.equal(torch.rand(3, device="cuda"), expected)
    assert once == policy.reply([request()], seed=3, greedy=False)
