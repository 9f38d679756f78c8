"""The tiny model and its tokenizer, untrained, and the team that speaks with shipped weights."""

from __future__ import annotations

import pytest
import torch

from laconic.envs.errors import SettingError
from laconic.learners.agents import recipes, tiny
from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.agents.recipes import SILENCE
from laconic.learners.agents.tiny.new import ModelConfig, build_model, build_tokenizer
from laconic.learners.interfaces import Request

SMALL = ModelConfig(vocabulary=300, hidden=16, layers=1, heads=2, intermediate=16)
CONTROLS = {"<pad>", "<end>", "<read>", "<speak>", "<silence>"}

ships_weights = pytest.mark.skipif(
    not (recipes.SHIPPED / "config.json").is_file(), reason="the shipped weights are not here yet"
)


def test_every_text_comes_back(tiny_tokenizer):
    for text in (
        "",
        "Anna has 12 apples.",
        "  two\n\nlines\t",
        "日本 😀 e\u0301 \0",
        "a_b__c",
        "—",
    ):
        assert tiny_tokenizer.decode(tiny_tokenizer.encode(text)) == text


def test_every_digit_is_a_token_of_its_own(tiny_tokenizer):
    tokens = tiny_tokenizer.tokenize("There are 1234 birds and 1234")
    assert [token.strip("Ġ") for token in tokens if any(map(str.isdigit, token))] == [*"12341234"]


def test_nothing_is_learned_across_words(tiny_tokenizer):
    tokens = tiny_tokenizer.tokenize("Anna has 12 apples.")
    assert all("Ġ" not in token[1:] for token in tokens)


def test_a_vocabulary_below_the_bytes_still_reads_any_text():
    tokenizer = build_tokenizer(["Anna"], 10)
    assert len(tokenizer) == 256 + 5
    assert tokenizer.decode(tokenizer.encode("Łódź")) == "Łódź"
    assert len(build_tokenizer([], 300)) == 256 + 5


def test_with_a_space_before_every_text_a_word_is_the_same_token_everywhere():
    texts = ["Gus asks Cal. Ana asks Gus.", "member_0: Gus", "Gus", "> Gus"]
    tokenizer = build_tokenizer(texts * 9, 400, add_prefix_space=True)
    (word,) = tokenizer.encode("Gus")
    for text in (*texts, "", "  two\n\nlines", "\nnext", "日本"):
        ids = tokenizer.encode(text)
        assert ids.count(word) == text.count("Gus")
        assert tokenizer.decode(ids) == text
    # So do the parts of a conversation, which control tokens part.
    assert tokenizer.encode("<read>Gus asks<speak>Gus<end>").count(word) == 2
    plain = build_tokenizer(texts * 9, 400)
    assert plain.encode("Gus")[0] not in plain.encode("member_0: Gus")


def test_control_tokens_are_special_and_first(tiny_tokenizer):
    assert set(tiny_tokenizer.all_special_tokens) == CONTROLS
    assert sorted(tiny_tokenizer.convert_tokens_to_ids(sorted(CONTROLS))) == [0, 1, 2, 3, 4]
    assert tiny_tokenizer.decode(range(5), skip_special_tokens=True) == ""


def test_weights_are_a_function_of_the_seed_alone(tiny_tokenizer):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, same, other = (build_model(tiny_tokenizer, SMALL, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(2), expected)
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, same.state_dict()[name])
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)


def test_the_model_has_the_shape_asked_for_and_ties_its_ends(tiny_tokenizer):
    model = build_model(tiny_tokenizer, SMALL, 0)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    # embedding 16 a token; attention 4 x 16 x 16, feed-forward 3 x 16 x 16, three norms of 16
    expected = len(tiny_tokenizer) * 16 + 4 * 256 + 3 * 256 + 3 * 16
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
    assert model.config.eos_token_id == tiny_tokenizer.eos_token_id


def test_a_team_of_other_weights_takes_every_setting(make_policy, make_env, tmp_path):
    make_policy().save(tmp_path)
    team = tiny.TinyTeam(
        str(tmp_path), sharing="separate", sampling=SamplingSettings(max_reply_tokens=3)
    )
    policies = team.policies(make_env())
    assert len({id(policy) for policy in policies.values()}) == 4
    replies = policies["solver_0"].reply([Request("solver_0", "Hi")] * 4, seed=0, greedy=False)
    assert max(len(reply.reply_ids) for reply in replies) <= 3


def test_where_no_weights_are_the_error_says_so(make_env, tmp_path, monkeypatch):
    monkeypatch.setattr(tiny, "SHIPPED", tmp_path)
    with pytest.raises(SettingError, match="holds no config.json"):
        tiny.TinyTeam().policies(make_env())


@ships_weights
def test_the_shipped_weights_speak(make_env):
    team = tiny.TinyTeam(sampling=SamplingSettings(explain_silence=False, max_reply_tokens=8))
    assert isinstance(team, HFTeam)
    policy = team.policies(make_env())["solver_0"]
    assert policy.tokenizer.convert_tokens_to_ids(SILENCE) in policy.write("")
    request = Request("solver_0", "How many?", max_tokens=7)
    once = policy.reply([request], seed=0, greedy=True)
    assert once == policy.reply([request], seed=1, greedy=True)
    assert len(team.tokenize("Anna has 12 apples.")) < len("Anna has 12 apples.")
