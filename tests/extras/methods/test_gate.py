"""Settings of a gate, and the teams that they build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.methods.gate import METRICS, Gate, GateCall, gate_call
from laconic.extras.methods.gated import GatedPolicy, GatePolicy, ModelGate, ScriptedGate
from laconic.extras.methods.gated_team import GatedSmolLM2Team, GatedTeam, GatedTinyTeam
from laconic.learners.agents.hf import HFTeam
from laconic.learners.agents.mixed import MixedTeam
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.recipes import SHIPPED, shipped
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.agents.smollm2 import SmolLM2Team
from laconic.learners.agents.tiny import TinyTeam
from laconic.learners.episode import Episode, Turn
from laconic.learners.metrics import intervals, summarize, wilson


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 1.5}, "agent.gate.threshold"),
        ({"speak_informed": -0.1}, "agent.gate.speak_informed"),
        ({"speak_uninformed": True}, "agent.gate.speak_uninformed"),
        ({"policy": ScriptedTeam()}, "agent.gate.policy must be a language model"),
        ({"policy": TinyTeam(sharing="separate")}, "got agent.gate.policy.sharing=separate"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        Gate(**settings)


def test_an_unknown_script_is_refused():
    with pytest.raises(UnknownNameError, match="agent.gate.policy"):
        Gate(policy="informant")


def test_a_gate_has_no_gate_of_its_own():
    with pytest.raises(SettingError, match="leave one out"):
        GatedTinyTeam(gate=Gate(), speaker=TinyTeam())


def test_a_script_is_no_speaker():
    with pytest.raises(SettingError, match="agent.speaker must be a language model"):
        GatedTinyTeam(speaker=ScriptedTeam())


def test_without_a_gate_policies_are_of_the_usual_class(saved, make_env):
    for policy in GatedTeam(str(saved)).policies(make_env()).values():
        assert type(policy) is HFPolicy


def test_settings_as_hydra_gives_them_build_a_scripted_gate(saved, make_env):
    team = GatedTeam(str(saved), gate={"speak_uninformed": 0.25})
    policies = team.policies(make_env())
    assert len({*policies.values()}) == 1 and isinstance(policies["solver_0"], GatedPolicy)
    assert policies["solver_0"].gate == ScriptedGate(1.0, 0.25)


def test_a_gate_may_have_weights_of_its_own(saved, make_env):
    team = GatedTeam(str(saved), gate={"policy": HFTeam(str(saved)), "threshold": 0.7})
    policy = team.policies(make_env())["helper_0"]
    assert isinstance(policy, GatedPolicy) and isinstance(policy.gate, ModelGate)
    assert policy.gate.threshold == 0.7 and policy.gate.policy.model is not policy.model
    # Its conversation shows its decisions: as many tokens as silence has, here one.
    assert policy.gate.policy.sampling.max_reply_tokens == len(policy.write("")) == 1


def test_a_speaker_turns_all_policies_into_gates_and_counts_the_tokens(saved, make_env):
    speaker = HFTeam(str(saved))
    team = GatedTeam(str(saved), sharing="separate", speaker=speaker)
    policies = team.policies(make_env())
    assert all(isinstance(policy, GatePolicy) for policy in policies.values())
    assert len({id(policy) for policy in policies.values()}) == 4
    assert len({id(policy.speaker) for policy in policies.values()}) == 1
    assert all(policy.sampling.max_reply_tokens == 1 for policy in policies.values())
    assert team.tokenize is speaker.tokenize


def test_members_of_a_mixed_team_have_gates_of_their_own(saved, make_env):
    members = {"solver": HFTeam(str(saved)), "helper": GatedTeam(str(saved), gate=Gate())}
    policies = MixedTeam(members).policies(make_env())
    assert type(policies["solver_0"]) is HFPolicy
    assert isinstance(policies["helper_2"], GatedPolicy)


def test_gate_and_speaker_take_the_weights_shipped_for_the_environment():
    team = GatedTinyTeam(gate=Gate(TinyTeam())).for_environment("signal")
    assert team.gate.policy.model == team.model == str(shipped("signal"))
    team = GatedTinyTeam(speaker=TinyTeam()).for_environment("signal")
    assert team.speaker.model == team.model == str(shipped("signal"))
    assert GatedTinyTeam(speaker=TinyTeam()).speaker.model == str(SHIPPED)
    plain = HFTeam(str(SHIPPED))
    assert plain.for_environment("signal") is plain


def test_behind_a_gate_a_model_keeps_its_own_defaults():
    for own, gated in ((TinyTeam, GatedTinyTeam), (SmolLM2Team, GatedSmolLM2Team)):
        usual, team = own(str(SHIPPED)), gated(str(SHIPPED), gate=Gate())
        assert team.sampling == usual.sampling and team.defaults() == usual.defaults()


def test_figures_of_a_gate_are_those_worked_out_by_hand() -> None:
    def turn(message: str, informed: bool | None = None, **fields: Any) -> Turn:
        return Turn("helper_1", 0, message, informed=informed, **fields)

    episodes = [Episode("a", (turn("hm", True),), {}), Episode("b", (turn(""),), {})]
    gated = Episode(
        task="a",
        turns=(
            turn("three", True, extra=GateCall(True, 10, 15).as_extra()),
            turn("", True, extra=GateCall(False, 10).as_extra()),
            turn("hm", False, extra=GateCall(True, 10, 12).as_extra()),
            # Let through, and silent by itself.
            turn("", False, extra=GateCall(True, 10, 11).as_extra()),
            turn("", False, extra=GateCall(False, 10).as_extra()),
            # An agent that answers: nothing is known of it. It counts in the ledger alone.
            turn("#### 3", extra=GateCall(True, 0, 40).as_extra()),
        ),
        rewards={},
    )
    results = intervals([gated, *episodes])
    assert {name: results[name].mean for name in METRICS.metrics} == pytest.approx(
        {
            # Of three let through, one was informed; of two informed ones, one was let through.
            "gate_precision": 1 / 3,
            "gate_recall": 1 / 2,
            "gate_f1": 2 * (1 / 3 * 1 / 2) / (1 / 3 + 1 / 2),
            # Over three episodes, two of them without a gate.
            "gate_calls": 6 / 3,
            "gate_tokens": 50 / 3,
            "gated_calls": 4 / 3,
            "gated_tokens": (15 + 12 + 11 + 40) / 3,
        }
    )
    right = replace(gated, turns=gated.turns[:1])
    # One of one in each of four episodes: Wilson, not an interval of no width.
    assert intervals([right] * 4)["gate_recall"].low == pytest.approx(wilson(4, 4)[0])
    unknown = replace(gated, turns=gated.turns[-1:])
    assert "gate_calls" in summarize([unknown]) and "gate_recall" not in summarize([unknown])
    assert set(METRICS.metrics).isdisjoint(summarize(episodes))


@pytest.mark.slow
def test_a_run_of_a_learning_gate_is_evaluated_with_its_speaker_and_resumes(run, rows, tmp_path):
    small = ["train.steps=1", "train.tasks_per_step=2", "train.group_size=2", "env.tasks=8"]
    words = ["train", "agent=gate", "learner.credit=silence", "evaluation.tasks=4", "threads=1"]
    folder = f"hydra.run.dir={tmp_path}/gate"
    assert run(*words, *small, folder).code == 0
    more = [*small[1:], "train.steps=2", "resume=true"]
    assert run(*words, *more, folder).code == 0
    settings = ["evaluation.tasks=4", f"run={tmp_path}/gate", f"hydra.run.dir={tmp_path}/played"]
    outcome = run("evaluate", *settings)
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "played" / "metrics.jsonl")
    assert row["eval/gate_calls"] == 4.0 and row["eval/gate_tokens"] > 0
    # The weights are those of the trained gate: its last evaluation was on the same tasks.
    last = rows(tmp_path / "gate" / "metrics.jsonl")[-1]
    assert row["eval/gated_tokens"] == last["eval/gated_tokens"]


@pytest.mark.parametrize(
    "found",
    [
        5,
        [],
        {},
        {"tokens": 1},
        {"bad": 1},
        {"speaks": [1]},
        {"speaks": 1},
        {"tokens": 10**400},
        {"tokens": -1},
    ]
    + [{"speaks": True, "gate_tokens": float("nan")}],
)
def test_a_damaged_decision_is_refused_in_words(found) -> None:
    turn = Turn("helper_0", 0, "", extra={"gate": found})
    with pytest.raises(SettingError, match="expected gate with speaks"):
        gate_call(turn)


def test_no_decision_is_none() -> None:
    assert gate_call(Turn("helper_0", 0, "", extra={"gate": None})) is None
