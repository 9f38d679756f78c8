"""A model behind a server as the outside expert of `env.feedback=expert`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from laconic.envs.checks import Model
from laconic.envs.dialogue.budget import replace_surrogates
from laconic.envs.dialogue.messages import indented
from laconic.envs.task import Task
from laconic.extras.api.client import client_of
from laconic.extras.api.settings import (
    ApiSamplingSettings,
    Endpoint,
    Prices,
    RequestLimits,
)
from laconic.learners.interfaces import Usage

_INSTRUCTION = (
    "Say in a few words what {agent} should change, or that it is good as it is. Do not do the work"
    " yourself."
)


@dataclass
class ApiExpert:
    """External expert that reads the messages of all agents and advises each in one request."""

    model: Model
    """Name of the model on the server."""
    base_url: str = "http://localhost:8000/v1"
    """Address before `/chat/completions`."""
    api_key_env: str | None = None
    """Environment variable that holds the API key; None to send no key."""
    instruction: str = _INSTRUCTION
    """Request for advice; `{agent}` stands for the author."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """Bounds on the requests."""
    sampling: ApiSamplingSettings = field(
        default_factory=lambda: ApiSamplingSettings(explain_silence=False)
    )
    """Sampling settings; advice is always greedy."""
    prices: Prices = field(default_factory=Prices)
    """Prices of tokens."""

    def __post_init__(self) -> None:
        """Check the endpoint without a request."""
        self._endpoint = Endpoint(
            self.base_url, self.model, self.api_key_env, self.limits, config_group="env.expert"
        )
        self._lock = threading.Lock()
        self._spent = Usage()

    @property
    def spent(self) -> Usage:
        """Tokens, requests and price of all advice so far."""
        return self._spent

    def __call__(self, task: Task, written: Mapping[str, str]) -> dict[str, str]:
        """Return the advice for each author.

        Args:
            task: task that the agents work on.
            written: last text of each author; agents without one get no advice.

        Raises:
            ServerError: a request has no usable answer.
        """
        # Indented as messages are, so that no text of an agent can pose as another's.
        works = "\n\n".join(f"{agent} wrote: {indented(text)}" for agent, text in written.items())
        bodies = [
            {
                "messages": [{"role": "user", "content": self._question(task, works, agent)}],
                **self.sampling.fields(None, seed=0, greedy=True),
            }
            for agent in written
        ]
        answers = dict(client_of(self._endpoint).stream(bodies))
        for answer in answers.values():
            with self._lock:
                self._spent += replace(answer.usage, cost=self.prices.cost(answer.usage))
        return {agent: answers[index].text.strip() for index, agent in enumerate(written)}

    def _question(self, task: Task, works: str, agent: str) -> str:
        instruction = self.instruction.replace("{agent}", agent)
        return replace_surrogates(f"The task:\n{task.text}\n\n{works}\n\n{instruction}")
