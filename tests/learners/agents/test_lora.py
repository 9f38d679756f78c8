"""Adapters: one base in memory, nothing of one agent in another, and stock `peft` reads them."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GptOssConfig

from laconic.envs.errors import SettingError
from laconic.learners.agents.hf import HFPolicy, HFTeam
from laconic.learners.agents.lora import Lora, new_adapter
from laconic.learners.interfaces import Request

peft = pytest.importorskip("peft")
ASKED = [
    Request("solver_0", text, max_tokens=12) for text in ("Hello", "How many birds?", "There are 3")
]
IDS = torch.arange(5, 25)[None]


def replies(policy: HFPolicy):
    return policy.reply(ASKED, seed=2, greedy=False)


def logits(policy: HFPolicy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model(input_ids=IDS).logits


def stir(policy: HFPolicy, seed: int) -> None:
    """Let the adapter do something."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in policy.model.parameters():
        if parameter.requires_grad:
            parameter.data.normal_(std=0.3, generator=generator)


def with_adapters(model: str, **settings) -> HFTeam:
    lora = Lora(**{"rank": 2, "alpha": 4.0, **settings.pop("lora", {})})
    return HFTeam(model, sharing="lora", lora=lora, **settings)


@pytest.fixture
def team(saved):
    return lambda model=None, **settings: with_adapters(model or str(saved), **settings)


def stir_and_save(policies, folder):
    for seed, (agent, policy) in enumerate(policies.items()):
        stir(policy, seed)
        policy.save(folder / agent)
    return folder, policies


@pytest.fixture
def fresh(team, make_env, tmp_path):
    """Four different adapters, saved: their folder, and their policies."""
    return stir_and_save(team().policies(make_env()), tmp_path / "adapters")


@pytest.fixture(scope="module")
def stirred_once(saved_once, make_env, tmp_path_factory):
    policies = with_adapters(str(saved_once)).policies(make_env())
    return stir_and_save(policies, tmp_path_factory.mktemp("stirred") / "adapters")


@pytest.fixture
def stirred(stirred_once, tmp_path):
    """The same, for tests that change nothing but the folder."""
    folder, policies = stirred_once
    shutil.copytree(folder, tmp_path / "adapters")
    return tmp_path / "adapters", policies


def test_new_adapters_change_nothing_and_are_alike(team, saved, make_env):
    policies = team().policies(make_env())
    (base,) = {
        id(policy): policy for policy in HFTeam(str(saved)).policies(make_env()).values()
    }.values()
    assert list(policies) == ["solver_0", "helper_0", "helper_1", "helper_2"]
    states = [policy.weights() for policy in policies.values()]
    for policy, state in zip(policies.values(), states, strict=True):
        assert torch.equal(logits(policy), logits(base))
        assert all(torch.equal(state[name], states[0][name]) for name in states[0])


def test_the_base_is_in_memory_once_and_every_adapter_is_its_agents_own(team, make_env):
    policies = list(team().policies(make_env()).values())
    results = [dict(policy.model.named_parameters()) for policy in policies]
    for name, tensor in results[0].items():
        others = {parameters[name].data_ptr() for parameters in results}
        assert len(others) == (4 if "lora_" in name else 1)
        assert tensor.requires_grad == ("lora_" in name)


def test_roles_of_a_team_and_two_teams_of_one_base_have_it_in_common(team, saved, make_env):
    first = team().policies(make_env())["solver_0"]
    second = team(lora={"rank": 3}).policies(make_env())["solver_0"]
    frozen = HFTeam(str(saved), frozen=True).policies(make_env())["solver_0"]
    pointers = {
        policy.model.get_input_embeddings().weight.data_ptr() for policy in (first, second, frozen)
    }
    assert len(pointers) == 1
    whole = HFTeam(str(saved)).policies(make_env())["solver_0"]
    assert whole.model.get_input_embeddings().weight.data_ptr() not in pointers


def test_no_agent_speaks_with_another_ones_adapter(fresh):
    _, policies = fresh
    expected = {agent: replies(policy) for agent, policy in policies.items()}
    assert len({message[0].behavior_logprobs for message in expected.values()}) == 4
    for agent in reversed(expected):
        assert replies(policies[agent]) == expected[agent]
    stir(policies["helper_0"], 9)
    assert replies(policies["helper_0"]) != expected["helper_0"]
    assert replies(policies["helper_1"]) == expected["helper_1"]


def test_saved_adapters_come_back_to_the_last_bit_each_to_its_agent(fresh, team, make_env):
    folder, policies = fresh
    back = team(str(folder)).policies(make_env())
    for agent, policy in policies.items():
        assert torch.equal(logits(back[agent]), logits(policy))
        assert replies(back[agent]) == replies(policy)
        assert not back[agent].frozen and back[agent].weights().keys() == policy.weights().keys()
    assert {path.name for path in (folder / "solver_0").iterdir()} >= {"adapter_config.json"}
    assert not list(folder.rglob("model.safetensors"))


def test_stock_peft_gives_the_same_logits(stirred, saved):
    folder, policies = stirred
    for agent, policy in policies.items():
        base = AutoModelForCausalLM.from_pretrained(saved)
        stock = peft.PeftModel.from_pretrained(base, folder / agent).eval()
        assert torch.equal(stock(input_ids=IDS).logits, logits(policy))


def test_what_is_written_again_is_what_peft_writes_byte_for_byte(fresh, tmp_path):
    for agent, policy in fresh[1].items():
        first, again, own = (tmp_path / agent / name for name in ("first", "again", "own"))
        policy.hand_on(first)
        stir(policy, 7)
        again.mkdir()
        policy.hand_on(again)
        policy._adapter._wrapped.save_pretrained(own, save_embedding_layers=False)
        for name in ("adapter_model.safetensors", "adapter_config.json"):
            assert (again / name).read_bytes() == (own / name).read_bytes()
        weights = (again / "adapter_model.safetensors").read_bytes()
        assert weights != (first / "adapter_model.safetensors").read_bytes()


def test_all_agents_may_start_from_one_adapter(stirred, team, make_env):
    folder, policies = stirred
    loaded = team(str(folder / "helper_1")).policies(make_env())
    assert len({id(policy) for policy in loaded.values()}) == 4
    for policy in loaded.values():
        assert torch.equal(logits(policy), logits(policies["helper_1"]))


def test_a_frozen_adapter_is_not_trained(stirred, team, make_env):
    policy = team(str(stirred[0]), frozen=True).policies(make_env())["solver_0"]
    assert policy.frozen and not policy.weights()
    assert torch.equal(logits(policy), logits(stirred[1]["solver_0"]))


def test_adapters_on_a_bfloat16_base_are_float32(team, make_env):
    policy = team(precision="bfloat16").policies(make_env())["solver_0"]
    dtypes = {parameter.dtype for parameter in policy.model.parameters() if parameter.requires_grad}
    assert dtypes == {torch.float32} and policy.model.dtype == torch.bfloat16


@pytest.mark.parametrize(
    "kind",
    [
        # With layers of another class than `Linear`, and with the names of all others.
        "gpt2",
        "gemma2",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("cohere", "mistral", "qwen3")),
    ],
)
def test_other_architectures_have_adapters_too(make_policy, make_env, team, kind, tmp_path):
    make_policy(kind).save(tmp_path / "base")
    policy = team(str(tmp_path / "base")).policies(make_env())["solver_0"]
    stir(policy, 0)
    policy.save(tmp_path / "adapter")
    back = team(str(tmp_path / "adapter")).policies(make_env())["solver_0"]
    assert torch.equal(logits(policy), logits(back))


def test_the_base_of_saved_adapters_may_move(fresh, saved, team, make_env):
    folder, policies = fresh
    saved.rename(saved.with_name("moved"))
    with pytest.raises(SettingError, match=r"agent\.lora\.base"):
        team(str(folder)).policies(make_env())
    there = {"base": str(saved.with_name("moved"))}
    back = team(str(folder), lora=there).policies(make_env())
    assert torch.equal(logits(back["solver_0"]), logits(policies["solver_0"]))


def test_adapters_of_other_agents_are_refused(stirred, team, make_env):
    with pytest.raises(SettingError, match="helper_4"):
        team(str(stirred[0])).policies(make_env(team={"solver": 1, "helper": 5}))


def test_adapters_are_not_taken_for_models_nor_models_for_adapters(
    stirred, saved, team, make_policy, make_env, tmp_path
):
    for folder in (stirred[0], stirred[0] / "solver_0"):
        for sharing in ("shared", "separate"):
            for use in (lambda team: team.tokenizer, lambda policy: policy.policies(make_env())):
                with pytest.raises(SettingError, match=r"agent\.sharing=lora"):
                    use(HFTeam(str(folder), sharing=sharing))
    for agent in make_env().possible_agents:
        make_policy().save(tmp_path / "whole" / agent)
    with pytest.raises(SettingError, match=r"agent\.sharing=separate"):
        team(str(tmp_path / "whole")).policies(make_env())


def test_a_damaged_adapter_is_a_setting_error_that_names_it(stirred, team, make_env):
    folder, _ = stirred
    (folder / "helper_1" / "adapter_model.safetensors").write_bytes(b"no")
    with pytest.raises(SettingError, match="helper_1"):
        team(str(folder)).policies(make_env())
    (folder / "helper_0" / "adapter_config.json").write_text("{")
    with pytest.raises(SettingError, match="helper_0"):
        team(str(folder)).policies(make_env())


def test_the_recorded_base_is_an_absolute_path(fresh, saved):
    config = json.loads((fresh[0] / "solver_0" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(saved.resolve())


def test_layers_that_do_not_exist_are_refused(team, make_env):
    with pytest.raises(SettingError, match=r"agent\.lora\.target_modules=\['qq_proj'\]"):
        team(lora={"target_modules": ["qq_proj"]}).policies(make_env())


def test_chosen_layers_alone_get_an_adapter(team, make_env):
    policy = team(lora={"target_modules": ["q_proj"]}).policies(make_env())["solver_0"]
    assert policy.weights() and all("q_proj.lora_" in name for name in policy.weights())


@pytest.mark.parametrize(
    ("setting", "value"),
    [("rank", 0), ("rank", True), ("rank", 1.5), ("alpha", 0.0), ("alpha", float("nan")),
     ("target_modules", [])],
)  # fmt: skip
def test_a_form_out_of_range_is_refused(setting, value):
    with pytest.raises(SettingError, match=rf"agent\.lora\.{setting}"):
        Lora(**{setting: value})


def test_without_peft_the_team_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(SettingError, match=r"pip install 'laconic-marl\[lora\]'"):
        HFTeam("anything", sharing="lora")


@pytest.mark.parametrize(
    ("targets", "without"),
    [
        (["q_proj", "w_pack"], "w_pack"),
        (["proj"], "proj"),
        (["o_proj", "Q_PROJ", "gate"], "Q_PROJ, gate"),
    ],
)
def test_names_that_match_no_layer_are_refused_with_the_layers_there_are(
    team, make_env, targets, without
):
    with pytest.raises(SettingError, match=r"agent\.lora\.target_modules") as caught:
        team(lora={"target_modules": targets}).policies(make_env())
    message = str(caught.value)
    if targets != ["proj"]:
        assert f"target_modules names {without}, but agent.model=" in message
        assert "down_proj, embed_tokens, gate_proj, k_proj" in message


def test_experts_that_get_no_adapter_are_noted(caplog):
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = GptOssConfig(
        vocab_size=32,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=2,
        **sizes,
    )
    base = AutoModelForCausalLM.from_config(config)
    new_adapter(base, "a-model-of-experts", Lora(rank=2))
    # 4 experts of 16 x 32 and 16 x 16.
    share = 4 * (16 * 32 + 16 * 16) / sum(parameter.numel() for parameter in base.parameters())
    assert "stacked weights of experts, such as model.layers.0.mlp.experts" in caplog.text
    assert f"they are {100 * share:.0f} % of the parameters of a-model-of-experts" in caplog.text
    caplog.clear()
    new_adapter(base, "a-model-of-experts", Lora(rank=2, target_modules=["q_proj"]))
    assert "experts" not in caplog.text


def rewrite(folder, **changes) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"megatron_config": {"x": 1}, "megatron_core": "megatron.theirs"},
        {"megatron_config": {"x": 1}},
        {"megatron_core": "theirs.core"},
        {"loftq_config": {"loftq_bits": 4}},
        {"init_lora_weights": "pissa"},
        {"layer_replication": [[0, 1000000]]},
        {"corda_config": {"cache_file": "/etc/passwd"}},
        {"trainable_token_indices": [1]},
        {"a_key_of_tomorrow": "os"},
        {"r": "8"},
        {"r": None},
        {"lora_alpha": 0},
        {"lora_alpha": True},
        {"lora_alpha": False},
        {"lora_alpha": None},
        {"alpha_pattern": {"q_proj": True}},
        {"layers_to_transform": True},
        {"use_dora": 0},
        {"r": 10**9},
        {"target_modules": "(a+)+b"},
        {"rank_pattern": {"(a*)*b": 2}},
        {"peft_type": "PREFIX_TUNING"},
        {"peft_type": ["LORA"]},
        {"task_type": "SEQ_CLS"},
    ],
)
def test_a_strangers_config_imports_nothing(
    stirred, team, make_env, changes, tmp_path, monkeypatch
):
    (tmp_path / "megatron").mkdir()
    (tmp_path / "megatron" / "theirs.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(tmp_path)
    rewrite(stirred[0] / "solver_0", **changes)
    with pytest.raises(SettingError, match=f"{next(iter(changes))}=.*adapter_config.json"):
        team(str(stirred[0])).policies(make_env())
    assert not any(name.startswith("megatron") for name in sys.modules)


def test_keys_that_change_nothing_are_ignored(stirred, team, make_env):
    folder, policies = stirred
    rewrite(
        folder / "solver_0",
        megatron_config=None,
        a_key_of_tomorrow=False,
        another={},
        auto_mapping={"parent_library": "os"},
        peft_version="99.0",
        task_type=None,
    )
    back = team(str(folder)).policies(make_env())["solver_0"]
    assert torch.equal(logits(back), logits(policies["solver_0"]))


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "base_model.", None])
def test_an_adapter_whose_file_lacks_its_weights_is_refused(stirred, team, make_env, prefix):
    path = stirred[0] / "solver_0" / "adapter_model.safetensors"
    weights = load_file(path)
    first = next(iter(weights))
    # Another name for all, or one weight less.
    wrong = {f"{prefix}{name}": value for name, value in weights.items()}
    shorter = {name: value for name, value in weights.items() if name != first}
    save_file(wrong if prefix else shorter, path)
    with pytest.raises(SettingError, match=rf"lacks {len(weights) if prefix else 1} weights"):
        team(str(stirred[0])).policies(make_env())


@pytest.mark.parametrize(
    "name",
    [
        "base_model.model.model.embed_tokens.weight",
        "base_model.model.lm_head.weight",
        "base_model.model.model.layers.0.self_attn.q_proj.base_layer.weight",
        "base_model.model.model.norm.weight",
        "base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight",
        "anything",
    ],
)
def test_an_adapter_brings_no_weights_that_its_config_does_not_name(stirred, team, make_env, name):
    folder, policies = stirred
    path = folder / "solver_0" / "adapter_model.safetensors"
    base = dict(policies["solver_0"].model.named_parameters())
    own = name.removeprefix("base_model.model.")
    weight = torch.zeros(base[own].shape if own in base else (2, 2))
    save_file(load_file(path) | {name: weight}, path)
    with pytest.raises(SettingError, match="holds 1 weights that its config does not name"):
        team(str(folder)).policies(make_env())
