"""The price at which a trained policy is evaluated."""

from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from laconic import envs
from laconic.experiments.session.training_price import set_training_price, training_price


@pytest.fixture
def run_of(tmp_path):
    """Write a run folder whose price rises by a tenth in each step."""

    def make(name="gsm8k", prices=(None, 0.0, 0.1, 0.2)):
        for part in ("policy/solver_0", "checkpoints"):
            (tmp_path / part).mkdir(parents=True, exist_ok=True)
        (tmp_path / "config.yaml").write_text(f"env: {{name: {name}}}\n")
        rows = [
            {"step": step} | ({} if price is None else {"train/price": price})
            for step, price in enumerate(prices)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "metrics.jsonl").write_text(text)
        return tmp_path

    return make


def configured(model, step=None, name="gsm8k"):
    return OmegaConf.create({"agent": {"model": str(model), "step": step}, "env": {"name": name}})


def test_it_is_that_of_the_step_of_the_weights(run_of):
    run = run_of()
    assert training_price(configured(run, step=2)) == (2, 0.1, None)
    for place in (run, run / "policy", run / "policy" / "solver_0"):
        assert training_price(configured(place)) == (3, 0.2, None)


def test_other_models_environments_and_runs_without_a_price_have_none(run_of, tmp_path):
    run = run_of()
    assert training_price(configured(run, name="math")) is None
    assert training_price(configured(run / "checkpoints")) is None
    assert training_price(configured("Qwen/Qwen3-0.6B")) is None
    assert training_price(OmegaConf.create({"agent": {}, "env": {"name": "gsm8k"}})) is None
    assert training_price(configured(run, step=0)) is None
    assert training_price(configured(run_of(prices=(None, None)))) is None


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
    set_training_price(configured(run_of()), environments, overrides)
    assert environments[0].reward.price == price
    line = "price: 0.2, as in training at step 3 (env.reward.price sets another)\n"
    assert capsys.readouterr().out == (line if price == 0.2 else "")


def test_a_price_of_another_unit_keeps_its_rate(run_of, capsys):
    run = run_of(prices=(None, 3.0))
    (run / "config.yaml").write_text("env: {name: gsm8k, reward: {price: 3.0, normalizer: 50}}\n")
    environments = [envs.make("gsm8k", tasks=2)]
    set_training_price(configured(run), environments, ())
    # 3 / 50 = 0.06 a token, which is 0.72 for 12 tokens.
    assert environments[0].reward.price == pytest.approx(0.72)
    assert environments[0].reward.normalizer == 12
    line = (
        "price: 0.72 (3 for 50 tokens), as in training at step 1 (env.reward.price sets another)\n"
    )
    assert capsys.readouterr().out == line
