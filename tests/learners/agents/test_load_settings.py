"""Settings of loading: attention, revision, quantization."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents import folders, load, sampling
from laconic.learners.agents.hf import HFTeam

ENV = SimpleNamespace(possible_agents=["solver_0"])


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
def test_attention_is_computed_as_asked(saved, kind):
    policy = HFTeam(str(saved), attn_implementation=kind, device="cpu").policies(ENV)["solver_0"]
    assert policy.model.config._attn_implementation == kind


def test_attention_that_does_not_exist_is_a_setting_error(saved):
    with pytest.raises(SettingError, match="agent.model"):
        HFTeam(str(saved), attn_implementation="psychic", device="cpu").policies(ENV)


def test_a_revision_reaches_all_that_is_read_from_the_hub(monkeypatch):
    calls = []

    def loader(name, **settings):
        calls.append((name, settings.get("revision")))
        raise OSError("no network")

    monkeypatch.setattr(load.AutoTokenizer, "from_pretrained", loader)
    monkeypatch.setattr(load.AutoModelForCausalLM, "from_pretrained", loader)
    monkeypatch.setattr(load.AutoConfig, "from_pretrained", loader)
    monkeypatch.setattr(load.PreTrainedConfig, "get_config_dict", loader)
    for finder in ("cached_file", "find_adapter_config_file"):
        monkeypatch.setattr(
            load,
            finder,
            lambda name, *_, **settings: calls.append((name, settings.get("revision"))),
        )
    monkeypatch.setattr("huggingface_hub.snapshot_download", loader)
    for revision in ("v2", None):
        folders.download_policies.cache_clear()
        team = HFTeam("owner/model", revision=revision, device="cpu")
        for use in (lambda team=team: team.tokenizer, lambda team=team: team.policies(ENV)):
            with pytest.raises(SettingError, match="no network"):
                use()
        with pytest.raises(SettingError, match="no network"):
            load.load_model("owner/model", "float32", "cpu", revision=revision)
        assert {request for _, request in calls} == {revision} and len(calls) >= 4
        calls.clear()


def test_models_are_common_only_if_they_are_loaded_alike(saved):
    eager = load.load_common(str(saved), "float32", "cpu", attention="eager")
    assert load.load_common(str(saved), "float32", "cpu", attention="eager") is eager
    assert load.load_common(str(saved), "float32", "cpu") is not eager


def test_packed_weights_take_no_steps(saved):
    with pytest.raises(
        SettingError, match=r"agent\.quantization=4bit works only for weights that are not trained"
    ):
        HFTeam(str(saved), quantization="4bit")


def test_without_the_package_it_is_said_what_to_install(saved, monkeypatch):
    monkeypatch.setattr(sampling, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match="pip install bitsandbytes"):
        HFTeam(str(saved), quantization="8bit", frozen=True)
    with pytest.raises(UnknownNameError, match=r"agent\.quantization '5bit'"):
        HFTeam(str(saved), quantization="5bit", frozen=True)


@pytest.mark.parametrize(("kind", "field"), [("4bit", "load_in_4bit"), ("8bit", "load_in_8bit")])
def test_a_packed_model_is_loaded_where_it_stays_and_moved_nowhere(saved, monkeypatch, kind, field):
    monkeypatch.setattr(sampling, "find_spec", lambda name: object())
    arguments = {}
    packed = SimpleNamespace(
        to=lambda place: pytest.fail("moved"),
        config=SimpleNamespace(architectures=None),
        named_parameters=list,
    )

    def loader(name, **settings):
        arguments.update(settings)
        return packed, {"missing_keys": [], "unexpected_keys": []}

    monkeypatch.setattr(load.AutoModelForCausalLM, "from_pretrained", loader)
    result = load.load_model(str(saved), "bfloat16", "cpu", quantization=kind)
    assert result is packed and arguments["device_map"] == {"": "cpu"}
    assert getattr(arguments["quantization_config"], field) is True
