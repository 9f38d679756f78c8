"""The price at which a trained policy is evaluated."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from laconic import envs
from laconic.experiments.session.training_price import set_training_price, training_price


@pytest.fixture
def run_of(tmp_path):
    """Write a run folder of an environment with a price for some tokens."""

    def make(name="gsm8k", **reward):
        for part in ("policy/solver_0", "checkpoints"):
            (tmp_path / part).mkdir(parents=True, exist_ok=True)
        env = {"name": name, "reward": reward}
        (tmp_path / "config.yaml").write_text(json.dumps({"env": env}))
        # What was charged at a step is a part of it.
        (tmp_path / "metrics.jsonl").write_text('{"step": 1, "train/price": 0.05}\n')
        return tmp_path

    return make


def configured(model, name="gsm8k"):
    return OmegaConf.create({"agent": {"model": str(model)}, "env": {"name": name}})


def test_it_is_that_of_the_environment_whatever_was_charged_at_a_step(run_of):
    run = run_of(price=0.2, normalizer=12)
    for place in (run, run / "policy", run / "policy" / "solver_0"):
        assert training_price(configured(place)) == (0.2, 12)
    assert training_price(configured(run_of(price=0.2))) == (0.2, None)


def test_other_models_environments_and_runs_without_a_price_have_none(run_of, tmp_path):
    run = run_of(price=0.2)
    assert training_price(configured(run, name="math")) is None
    assert training_price(configured(run / "checkpoints")) is None
    assert training_price(configured("Qwen/Qwen3-0.6B")) is None
    assert training_price(OmegaConf.create({"agent": {}, "env": {"name": "gsm8k"}})) is None
    assert training_price(configured(run_of())) is None


@pytest.mark.parametrize(
    ("overrides", "price"),
    [
        ((), 0.2),
        (("env=gsm8k", "agent=hf"), 0.2),
        (("env.reward.price=0.5",), 0.7),
        (("++env.reward.normalizer=10",), 0.7),
    ],
)
def test_it_is_set_unless_the_command_sets_another(run_of, capsys, overrides, price):
    environments = [
        envs.make("gsm8k", free=True, tasks=2, reward={"price": 0.7, "normalizer": 100})
    ]
    set_training_price(configured(run_of(price=0.2)), environments, overrides)
    assert environments[0].reward.price == price
    line = "price: 0.2, as in the training (env.reward.price sets another)\n"
    assert capsys.readouterr().out == (line if price == 0.2 else "")


def test_a_price_of_another_unit_keeps_its_rate(run_of, capsys):
    run = run_of(price=3.0, normalizer=50)
    environments = [envs.make("gsm8k", tasks=2)]
    set_training_price(configured(run), environments, ())
    # 3 / 50 = 0.06 a token, which is 0.72 for 12 tokens.
    assert environments[0].reward.price == pytest.approx(0.72)
    assert environments[0].reward.normalizer == 12
    line = "price: 0.72 (3 for 50 tokens), as in the training (env.reward.price sets another)\n"
    assert capsys.readouterr().out == line
