"""Teams, servers and replies are checked before anything is sampled or trained on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from laconic.envs.dialogue.messages import SilenceWord
from laconic.envs.errors import SettingError
from laconic.learners.agents.chat import ReplyEnd
from laconic.learners.engines.client import (
    Completion,
    LaunchOptions,
    ServerDescription,
    check_completion,
    check_server,
    check_team,
    check_top_logprobs,
    launch_options,
)
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt

PROMPT = Prompt(ids=(3, 4, 5), limit=4, end_ids=(1, 2), temperature=1.0, seed=0)
OPTIONS = LaunchOptions("base", 8000, "float32", 16, 8, 1024)


def completion(ids, *, prompt_ids=(3, 4, 5), logprobs=None):
    return Completion(prompt_ids, ids, (-1.0,) * len(ids) if logprobs is None else logprobs)


@pytest.mark.parametrize("ids", [(7, 8, 9, 6), (7, 1), (2,), (7, 8, 9, 1)])
def test_a_reply_ends_with_an_end_token_or_at_its_limit(ids):
    assert check_completion(completion(ids), PROMPT, "http://here", 10) == completion(ids)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (completion((1,), prompt_ids=(3, 4)), "3 prompt tokens.*it read 2.*from token 2"),
        (completion((1,), prompt_ids=(3, 9, 5)), "differ from token 1"),
        (completion((1,), prompt_ids=()), "it read 0"),
        (completion(()), "it has 0 tokens; expected 1 to 4"),
        (completion((7,) * 5), "it has 5 tokens"),
        (completion((7, 1), logprobs=(-1.0,)), "2 tokens and 1 log-prob"),
        (completion((10, 1)), "token id 10 is outside the model's vocabulary of 10"),
        (completion((-1, 1)), "token id -1 is outside"),
        (completion((1,), logprobs=(0.5,)), "0.5 is no log"),
        (completion((1,), logprobs=(-math.inf,)), "-inf is no log"),
        (completion((1, 7)), "continues after the end token 1"),
        (completion((7, 8)), r"stops at token 8 after 2 of 4"),
        # The silence word (tokens 7, 8) comes after an end token.
        (completion((1, 7, 8)), "continues after the end token 1"),
    ],
)
def test_a_reply_that_cannot_be_one_is_refused_with_the_reason(reply, message):
    with pytest.raises(ServerError, match=f"http://here.*{message}"):
        check_completion(reply, PROMPT, "http://here", 10)


PIECES = {7: "<silence", 8: ">", 9: "> and"}


@pytest.fixture
def with_word() -> Prompt:
    """Return the prompt with a silence word that is tokens 7, 8 or tokens 7, 9."""

    def text_of(ids):
        return "".join(PIECES.get(token, "x") for token in ids)

    end = ReplyEnd(SilenceWord("<silence>"), text_of, lambda token: text_of([token]), (1, 2))
    return replace(PROMPT, limit=5, reply_end=end)


@pytest.mark.parametrize(
    ("ids", "size"),
    [
        ((7, 8), 2),
        ((6, 7, 9), 3),
        # A server that checks stop strings late samples on, even up to an end token.
        ((6, 7, 8, 6), 3),
        ((7, 8, 6, 1), 2),
        ((6, 7, 1), 3),
        ((6, 6, 6, 7, 8), 5),
    ],
)
def test_a_reply_may_end_with_the_silence_word_and_is_cut_there(with_word, ids, size):
    logprobs = tuple(-float(place) for place in range(len(ids)))
    tops = tuple({token: -1.0} for token in ids)
    checked = check_completion(Completion((3, 4, 5), ids, logprobs, tops), with_word, "", 10)
    assert checked == Completion((3, 4, 5), ids[:size], logprobs[:size], tops[:size])


def test_a_short_reply_without_the_whole_silence_word_is_refused(with_word):
    with pytest.raises(ServerError, match="or the whole silence word"):
        check_completion(completion((6, 7)), with_word, "http://here", 10)
    # A prompt without a silence word, such as that of the probe, is not ended by it.
    with pytest.raises(ServerError, match="stops at token 8"):
        check_completion(completion((7, 8)), PROMPT, "http://here", 10)


@pytest.mark.parametrize("top", [{}, {1: -1.0}, {99: -1.0} | {at: -9.0 for at in range(1, 20)}])
def test_a_server_that_returns_too_few_top_tokens_is_refused_with_its_flag(top):
    reply = Completion((3,), (1,), (-1.0,), (top,))
    with pytest.raises(ServerError, match="verify the weights.*--max-logprobs 20"):
        check_top_logprobs(reply, 20, "http://here", 50)
    enough = replace(reply, top_logprobs=({at: -1.0 for at in range(20)},))
    check_top_logprobs(enough, 20, "", 50)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"dtype": "bfloat16"}, "computes in bfloat16 and the trainer in float32"),
        ({"rank": 0}, "takes no adapters"),
        ({"rank": 8}, "up to rank 8; agent.lora.rank=16"),
        ({"adapters": 4}, "holds 4 adapters at a time.*needs 8"),
        ({"processed": False}, "temperature"),
    ],
)
def test_a_server_that_lacks_something_is_refused_with_a_command(description, message):
    with pytest.raises(ServerError, match=rf"http://here.*{message}.*Start it with: vllm serve"):
        check_server(
            ServerDescription("base", **description), OPTIONS, "http://here", "vllm serve base"
        )


def test_a_server_that_fits_or_reports_nothing_passes():
    check_server(ServerDescription("base"), OPTIONS, "http://here", "")
    full = ServerDescription("base", 1024, "float32", 64, 8, True)
    check_server(full, OPTIONS, "http://here", "")


@pytest.mark.parametrize(("sharing", "rank", "adapters"), [("lora", 4, 6), ("shared", 0, 0)])
def test_a_server_needs_room_for_the_adapters_of_all_live_versions(
    make_team, sharing, rank, adapters
):
    policies = make_team(sharing)
    team = {name: policies[name] for name in ("solver_0", "helper_0")[: 2 if rank else 1]}
    options = launch_options(team, 1)
    # Two agents, three versions each: two live ones (staleness 1) and the one being loaded.
    assert (options.rank, options.adapters, options.dtype) == (rank, adapters, "float32")
    assert options.positions == 1024 and options.model == team["solver_0"].base


def test_several_whole_models_are_refused(make_team):
    with pytest.raises(SettingError, match=r"whole models for solver_0, helper_0"):
        check_team(make_team("separate"))
