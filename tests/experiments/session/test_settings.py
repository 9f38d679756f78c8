"""Records and classes declare every key of the yamls, and wrong values are refused by them."""

from __future__ import annotations

import functools

import pytest
from places import CONF

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.experiments.command_line.tree import (
    check_values,
    compose,
    dotted,
    plain,
    record_of,
    setting_at,
)

compose_once = functools.cache(lambda program, *choices: compose(program, str(CONF), choices))


@pytest.mark.parametrize("program", ["train", "evaluate", "compare", "demand", "measure_speed"])
def test_each_key_of_a_program_is_declared(program):
    cfg = plain(compose_once(program))
    keys = [key for key in dotted(cfg) if "._" not in key and not key.startswith("logger")]
    assert len(keys) > 30
    assert [key for key in keys if setting_at(cfg, key, record_of(program)) is None] == []


REFUSED = {
    "train": """
        seed=-1 seed=null threads=0 report=maybe resume=runs
        train.steps=-1 train.steps=two train.steps=1.5 train.minutes=0 train.tasks_per_step=0
        train.group_size=0 train.checkpoint_every=0 train.evaluate_every=0
        evaluation.tasks=0 evaluation.batch=0 evaluation.transcripts=-1
        env.rounds=0 env.rounds=[2] env.rounds=true env.tasks=0 env.holdout=1 env.holdout_seed=x
        env.max_rounds=0 env.split=test env.free=maybe env.information=half env.agree_at=0
        env.stop_at=x env.addressing=x env.feedback=x env.tokens_left=x env.render_mode=x
        env.budget.message=0 env.budget.agent=0 env.budget.round=0 env.budget.episode=0
        env.budget.thought=0 env.channel.lose=2 env.channel.mark=1 env.channel.per=x
        env.channel.probe=x env.fault.kind=x env.fault.packaging=x env.fault.round=-1
        env.reward.price=-1 env.reward.normalizer=0 env.reward.read_price=-1 env.reward.paid=x
        env.reward.thought_weight=-1 env.reward.thought_weight=1e7 env.reward.round_price=-1
        env.reward.charge=x env.reward.when=x env.reward.exempt_answer=x
        agent.sampling.temperature=0 agent.frozen=7 agent.sharing=x
        agent.lora.rank=0 agent.lora.alpha=0 agent.sampling.max_reply_tokens=0
        agent.sampling.thinking_tokens=0
        agent.sampling.generate_tokens=0 agent.step=x agent.gradient_checkpointing=x
        learner.minibatches=0 learner.microbatch_tokens=0 learner.max_grad_norm=0
        learner.warmup_updates=-1 learner.decay_updates=-1 learner.decay=stairs learner.whiten=1.5x
        learner.correction=x learner.correction_low=1 learner.correction_high=1 learner.seed=x
        learner.objective.importance_sampling_level=x learner.objective.average=x
        learner.objective.epsilon=2 learner.objective.epsilon_high=0 learner.objective.beta=-1
        learner.objective.normalizer=0 learner.objective.shortest=0
        learner.price.power=0 learner.price.smoothing=1
        learner.advantages.compare_by=x learner.advantages.center=x learner.advantages.scale=x
        learner.advantages.scale_over=x learner.advantages.eps=0
        optimizer.lr=fast optimizer.amsgrad=maybe""",
    "train hook=train": "evaluation.demand=0",
    "train env=commons": """
        env.wording=x env.months=0 env.talk=x env.talk_rounds=0 env.language=x env.grant=x
        env.universalization=x env.newcomer=7""",
    "train env=boxnet": """
        env.rows=0 env.columns=0 env.steps=0 env.discussion=0 env.view=x env.planning=x
        env.order=x""",
    "train env=hops": "env.names=3 env.names=25 env.steps=x env.pages=0 env.deadline=0",
    "train env=cups": "env.cups=2 env.cups=5 env.pages=0 env.deadline=0",
    "train env=jury": "env.colors=1 env.colors=6 env.looks=0 env.paid=x env.told=7",
    "train env=matrix": "env.game=x env.length=0 env.chat=-1 env.threshold=0 env.growth=x",
    "train agent=api": """
        agent.limits.concurrency=0 agent.limits.requests_per_minute=0
        agent.limits.timeout_seconds=0 agent.limits.attempts=0 agent.prices.prompt=-1
        agent.prices.completion=-1 agent.sampling.max_reply_tokens=0
        agent.sampling.thinking_tokens=-1 agent.sampling.limit_field=x
        agent.sampling.temperature=0 agent.sampling.top_p=2""",
    "train agent=voter": "agent.accuracy=2 agent.shared=-1 agent.fidelity=x",
    "train agent=adopter": "agent.beta=2 agent.delta=-1",
    "train agent=gated": """
        agent.gate.threshold=2 agent.gate.speak_informed=-1 agent.gate.speak_uninformed=x""",
    "train agent=mixed": "agent.members.helper.frozen=7",
    "train learner=rae": "learner.advantages.decay=1",
    "train learner=rlccf": """
        learner.collective.vote=x learner.collective.guard=x learner.collective.consistency=-1""",
    "train learner=mappo": """
        learner.gamma=2 learner.gae_lambda=-1 learner.critic.sees=x learner.critic.width=0
        learner.critic.epochs=0 learner.critic.batch=0 learner.critic.learning_rate=0""",
    "train learner=sdpo": "learner.follow_up=x learner.mix=0 learner.center=x",
    "train learner=imitation": "learner.collect.others=2",
    "train learner=c3": "learner.collect.continuations=0 learner.collect.turns=x",
    "train learner/price=target_tokens": """
        learner.price.tokens=0 learner.price.integral_gain=-1 learner.price.proportional_gain=-1
        learner.price.max_price=-1 learner.price.smoothing=2""",
    "train learner/price=accuracy_floor": "learner.price.accuracy=2",
    "train engine=vllm": """
        engine.max_staleness=-1 engine.tolerance=0 engine.start_seconds=0 engine.timeout_seconds=0
        engine.patience_seconds=-1 engine.concurrency=0 engine.start=maybe""",
    "train engine=batched": "engine.page_tokens=3 engine.batch_tokens=0",
    "evaluate": """
        evaluation.split=all evaluation.greedy=maybe evaluation.samples=0 evaluation.tokens=x
        evaluation.fidelity=0 evaluation.probe_silence=x resume=runs""",
    "compare": """
        compare.budget=0 compare.most_votes=0 compare.equal=x evaluation.split=all
        entries.debate.agents=1 entries.debate.greedy=maybe""",
    "demand": "seed=-1 threads=0 evaluation.tasks=0 evaluation.batch=0 evaluation.split=all",
    "measure_speed": """
        seed=-1 train.tasks_per_step=0 train.group_size=0 measure.conversations=0
        measure.repetitions=0""",
}
"""Program and options -> settings, each wrong by itself."""


@pytest.mark.parametrize(
    ("choices", "wrong"),
    [(choices, text) for choices in REFUSED for text in REFUSED[choices].split()],
)
def test_a_wrong_value_is_refused_with_its_key(choices, wrong):
    program, *options = choices.split()
    if program == "compare":
        options = ["entry=[debate]"]
    cfg = compose(program, str(CONF), [*options, wrong], values=True)
    with pytest.raises((SettingError, UnknownNameError)) as refusal:
        check_values(cfg, record_of(program))
    assert wrong.partition("=")[0] in str(refusal.value)


def test_what_the_yamls_say_is_right():
    for choices in REFUSED:
        program, *options = choices.split()
        check_values(compose_once(program, *options), record_of(program))
