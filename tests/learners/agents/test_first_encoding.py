"""A tokenizer of a stranger that makes too much of a short text is refused in one line."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from laconic.envs.errors import SettingError
from laconic.learners.agents import first_encoding
from laconic.learners.agents.first_encoding import TEXT, find_fault, panics_raised
from laconic.learners.agents.load import load_tokenizer
from laconic.learners.agents.recipes import SHIPPED


def hundredfold(times: int) -> normalizers.Normalizer:
    return normalizers.Sequence([normalizers.Replace("e", "e" * 100)] * times)


def written(folder: Path, **parts) -> Path:
    """Write a tokenizer of single characters with further parts."""
    characters = {chr(code): code - 32 for code in range(32, 127)}
    tokenizer = Tokenizer(models.BPE(vocab=characters, merges=[]))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


# 48 e become 48 * 100^4 = 4.8 * 10^9 bytes, or 480,000 after two rules: both orders and the words
# make some 960,000 tokens of 10,600 characters.
FAULTS = {
    "gigabytes": ({"normalizer": hundredfold(4)}, "takes more than 2 GiB"),
    "many tokens": ({"normalizer": hundredfold(2)}, r"makes [\d,]+ tokens of [\d,]+ characters"),
    "a pattern at an end": ({"pre_tokenizer": split("(a+)+$")}, "cannot encode a short text"),
    "a pattern before a y": ({"pre_tokenizer": split("(x|x)*y")}, "cannot encode a short text"),
    "a pattern of digits": ({"pre_tokenizer": split(r"(\d*)*!")}, "cannot encode a short text"),
    "a slow rule": (
        {"normalizer": normalizers.Replace(Regex("( |  )*z"), "")},
        "cannot encode a short text",
    ),
    # 100 for one character of a token, three times: a million.
    "a long token": (
        {"decoder": decoders.Sequence([decoders.Replace("e", "e" * 100)] * 3)},
        "has a decoder whose rules make up to 1,000,000 characters of one",
    ),
    # No text of ours has these two tokens side by side. 5,000 characters of two.
    "a long pair": (
        {"decoder": decoders.Sequence([decoders.Fuse(), decoders.Replace("qZ", "e" * 5000)])},
        "make up to 2,500 characters of one",
    ),
    "a place between characters": (
        {"decoder": decoders.Replace(Regex("x*"), "eeee")},
        "make up to 5 characters of one",
    ),
    "a slow rule of decoding": (
        {"decoder": decoders.Sequence([decoders.Fuse(), decoders.Replace(Regex("(a+)+$"), "")])},
        "cannot decode its tokens",
    ),
}


@pytest.mark.parametrize(("parts", "said"), FAULTS.values(), ids=FAULTS)
def test_a_tokenizer_that_makes_too_much_of_a_text_is_refused(saved, parts, said):
    written(saved, **parts)
    with pytest.raises(SettingError, match=f"tokenizer.json of agent.model=.* {said}") as refusal:
        load_tokenizer(str(saved))
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_read_for_a_version_of_the_library_is_tried_too(saved):
    # `transformers` takes the file that its own version names, and no other is read then.
    shutil.move(saved / "tokenizer.json", saved / "harmless.json")
    written(saved, normalizer=hundredfold(2))
    shutil.move(saved / "tokenizer.json", saved / "tokenizer.4.0.0.json")
    shutil.move(saved / "harmless.json", saved / "tokenizer.json")
    settings = saved / "tokenizer_config.json"
    listed = {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | listed))
    with pytest.raises(SettingError, match=r"tokenizer\.4\.0\.0\.json of agent\.model=.* makes"):
        load_tokenizer(str(saved))


NORMAL = {
    "bytes": decoders.ByteLevel(),
    "word pieces": decoders.WordPiece(),
    "spaces": decoders.Metaspace(),
    # Llama 2: a mark for a space, bytes of rare characters, and no space at the beginning.
    "sentences": decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    ),
    "a pattern": decoders.Replace(Regex(r"\s+"), " "),
}


@pytest.mark.parametrize("decoder", NORMAL.values(), ids=NORMAL)
def test_decoders_of_models_pass(tmp_path, decoder):
    assert find_fault(written(tmp_path, decoder=decoder)) is None


@pytest.mark.parametrize(
    "file", sorted(SHIPPED.parents[1].glob("*/policy/tokenizer.json")), ids=lambda f: f.parts[-3]
)
def test_shipped_tokenizers_pass(file):
    assert find_fault(file) is None


def test_a_tokenizer_is_encoded_once_for_all_copies_of_its_file(saved, tmp_path, monkeypatch):
    assert find_fault(saved / "tokenizer.json") is None
    shutil.copy(saved / "tokenizer.json", tmp_path / "copy.json")
    monkeypatch.setattr(first_encoding.sys, "executable", "/no/such/program")
    assert find_fault(tmp_path / "copy.json") is None


def test_time_is_limited(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    text = Path(first_encoding.__file__).read_text()
    text = text.replace("MAX_SECONDS = 20", "MAX_SECONDS = 1")
    program.write_text(text.replace("tokenizer.encode(TEXT).ids", "[0 for _ in iter(int, 1)]"))
    monkeypatch.setattr(first_encoding, "__file__", str(program))
    began = time.monotonic()
    assert "takes more than" in find_fault(written(tmp_path, normalizer=normalizers.Lowercase()))
    assert time.monotonic() - began < 30


def test_a_panic_is_a_setting_error(tmp_path):
    file = written(tmp_path, pre_tokenizer=split("(a+)+$"))
    with pytest.raises(SettingError, match="agent.model stop a library: Onig"), panics_raised():
        Tokenizer.from_file(str(file)).encode(TEXT)
    with pytest.raises(KeyboardInterrupt), panics_raised():
        raise KeyboardInterrupt
