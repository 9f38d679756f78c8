"""A stranger's pattern of layers is matched in a short time, or refused."""

from __future__ import annotations

import re

import pytest

from laconic.learners.agents.adapter_patterns import is_plain, is_quick

LAYERS = [
    "model.layers.0.self_attn.q_proj",
    "model.layers.0.self_attn.v_proj",
    "model.layers.0.mlp.up_proj",
    "model.visual.blocks.0.attn.q_proj",
]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("all-linear", []),
        (r".*\.(q_proj|v_proj)$", [0, 1, 3]),
        (r"^(?!.*visual).*(q|k)_proj$", [0]),
        # LLaMA-Factory, and ms-swift.
        (r"^(?!.*visual).*(?:q_proj|up_proj).*", [0, 2]),
        (r"^(model(?=\.).*\.(q_proj|up_proj))$", [0, 2, 3]),
        (r"model\.layers\.([0-9]|1[0-9])\.self_attn\.(q|v)_proj", [0, 1]),
        # unsloth.
        (
            r"(?:.*?(?:visual|text).*?(?:attn|mlp).*?(?:q_proj|v_proj).*?)"
            r"|(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|up_proj)))",
            [0, 2, 3],
        ),
    ],
)
def test_patterns_of_trainers_are_taken(pattern, matched):
    assert is_quick(pattern)
    assert [place for place, name in enumerate(LAYERS) if re.fullmatch(pattern, name)] == matched


@pytest.mark.parametrize(
    "pattern",
    [
        "(.|..)" * 20 + "[#!]",
        ".?" * 60 + "[#!]",
        "(.{1,2})" * 20 + "#",
        "(l|la)(a|ay|y)" * 15,
        "(a|a|a)" * 12,
        "(a?|b?)" * 12,
        ".*.*.*#",
        "[^#]*[^#]*[^#]*#",
        # Each character between the repeated parts may be missing.
        ".*ab?.*ab?.*ab?#",
        ".*(?:name)?.*(?:name)?.*",
        "(a+)+b",
        "(a|aa){5}",
        "(?i)q_proj",
        r"(a)\1",
        "(?P<name>a)",
        "(.*q_proj",
        "(" * 1000 + ")" * 1000,
        "q" * 2048,
    ],
)
def test_patterns_that_match_in_many_ways_are_refused(pattern):
    assert not is_quick(pattern)


@pytest.mark.parametrize(
    ("pattern", "quick"),
    # 2 ways for each `?`: 2 ** 17 = 131,072 and 2 ** 18 = 262,144.
    [(".?" * 17, True), (".?" * 18, False),
     # 100 ways for each repeated part, and 10 for one before a name: 100,000 and 1,000,000.
     (".*one.*two.*six.*", True), (".*one.*two.*six.*ten.*ten.*", False)],
)  # fmt: skip
def test_the_limit_is_on_the_ways_to_match(pattern, quick):
    assert is_quick(pattern) == quick


@pytest.mark.parametrize("name", ["q_proj", "^model.layers.0.q_proj$", r"mlp\.gate-proj"])
def test_names_of_layers_are_plain(name):
    assert is_plain(name)


@pytest.mark.parametrize("name", ["q|k", "(q)", "q?", "q*", "[q]", "q{2}", "q" * 512])
def test_signs_of_patterns_are_no_names(name):
    assert not is_plain(name)
