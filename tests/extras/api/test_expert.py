"""An expert behind a server advises every author."""

from __future__ import annotations

import pytest

from laconic.envs.task import Task
from laconic.extras.api.expert import ApiExpert
from laconic.extras.api.settings import Prices, RequestLimits
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.errors import ServerError
from laconic.learners.rollout.play import Start, play

TASK = Task(key="t", question="Write a poem.", statements=(), answer="")
QUICK = RequestLimits(attempts=2)


def test_every_author_is_advised_in_a_request_of_its_own(fault_server):
    fault_server.say = lambda body: f" Shorter, {body['messages'][0]['content'].split()[-1]} "
    expert = ApiExpert(
        "m",
        fault_server.base_url,
        instruction="Advise {agent}",
        limits=QUICK,
        prices=Prices(prompt=1e6),
    )
    advice = expert(TASK, {"writer_0": "Roses", "writer_1": "Violets {agent}"})
    assert advice == {"writer_0": "Shorter, writer_0", "writer_1": "Shorter, writer_1"}
    first = min(fault_server.bodies, key=lambda body: body["messages"][0]["content"][-1])
    assert first["messages"][0]["content"] == (
        "The task:\nWrite a poem.\n\nwriter_0 wrote: Roses\n\nwriter_1 wrote: Violets {agent}"
        "\n\nAdvise writer_0"
    )
    assert first["temperature"] == 0.0
    assert expert.spent.calls == 2 and expert.spent.cost == 20.0
    assert expert(TASK, {}) == {}


def test_an_expert_without_an_answer_ends_the_run(fault_server):
    fault_server.faults.extend(["500"] * 2)
    with pytest.raises(ServerError, match="HTTP 500"):
        ApiExpert("m", fault_server.base_url, limits=QUICK)(TASK, {"writer_0": "Roses"})


def test_a_team_reads_its_advice_between_two_rounds(fault_server, make_env):
    fault_server.say = lambda body: "Think of the pears."
    expert = ApiExpert("m", fault_server.base_url, limits=QUICK)
    environment = make_env(feedback="expert", expert=expert, rounds=2, answer="majority")
    assert environment.metadata["slow_step"]
    read = []

    class Reader:
        def reply(self, requests, *, seed, greedy):
            read.extend(request.text for request in requests)
            return (
                ScriptedTeam("oracle")
                .policies(environment)["solver_0"]
                .reply(requests, seed=seed, greedy=greedy)
            )

    play(
        [environment],
        dict.fromkeys(environment.possible_agents, Reader()),
        [Start(0, "fruit")],
        seed=0,
    )
    advised = [text for text in read if "Think of the pears." in text]
    assert len(advised) == fault_server.calls > 0
