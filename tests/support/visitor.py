"""Loads policies by name and prints how likely every agent holds some tokens: a script of a test.

    python visitor.py <stock or laconic> <name> <overrides of the team...>
    python visitor.py push <name> <folder> <subfolder> <base of an adapter>

`stock` uses `transformers` and `peft` alone, with the folders of `team.json`; `laconic` the
policies that the environment's agents would have. `push` loads the policy of a folder, sends it
and its tokenizer by their own methods, and loads the repository that they made.
"""

from __future__ import annotations

import json
import sys

IDS = list(range(5, 45))


def logprobs(model) -> list[float]:
    import torch

    ids = torch.tensor([IDS])
    with torch.no_grad():
        logprobs_of_tokens = model.eval()(input_ids=ids).logits.log_softmax(-1)
    return logprobs_of_tokens[0, :-1].gather(1, ids[0, 1:, None]).squeeze(1).tolist()


def loaded(name: str, folder: str, base: str):
    """Load a model, or an adapter on its base."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    place = {"subfolder": folder} if folder else {}
    if not base:
        return AutoModelForCausalLM.from_pretrained(name, **place)
    return PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), name, **place)


def stock(name: str, base: str = "") -> dict[str, list[float]]:
    from huggingface_hub import hf_hub_download
    from transformers import AutoTokenizer

    team = json.load(open(hf_hub_download(name, "team.json")))
    by_agent = {}
    for agent, folder in team.items():
        if folder is None:
            continue
        place = "" if folder == "." else folder
        assert AutoTokenizer.from_pretrained(name, subfolder=place).decode(IDS)
        by_agent[agent] = logprobs(loaded(name, place, base))
    assert not [name for name in sys.modules if name.startswith(("learners", "experiments"))]
    return by_agent


def push(name: str, policy: str, folder: str = "", base: str = "") -> list[float]:
    from transformers import AutoTokenizer

    loaded(policy, folder, base).push_to_hub(name)
    tokenizer = AutoTokenizer.from_pretrained(policy, subfolder=folder)
    tokenizer.push_to_hub(name)
    assert AutoTokenizer.from_pretrained(name).get_vocab() == tokenizer.get_vocab()
    return logprobs(loaded(name, "", base))


def laconic(name: str, *overrides: str) -> dict[str, list[float]]:
    from laconic import envs
    from laconic.experiments.python import compose
    from laconic.experiments.session.setup import make_team

    settings = dict(override.split("=", 1) for override in overrides)
    cfg = compose(program="evaluate", **settings, **{"agent.model": name})
    policies = make_team(cfg).policies(envs.make("gsm8k", free=True, tasks=2))
    return {a: logprobs(policy.model) for a, policy in policies.items() if hasattr(policy, "model")}


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    print(json.dumps({"stock": stock, "laconic": laconic, "push": push}[kind](*arguments)))
