"""A model behind a server as the outside expert of `env.feedback=expert`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from laconic.envs.dialogue.budget import well_formed
from laconic.envs.dialogue.transcript import indented
from laconic.envs.task import Task
from laconic.learners.agents.api.client import client_of
from laconic.learners.agents.api.settings import ApiSamplingSettings, Prices, RequestLimits, Server
from laconic.learners.agents.base import Usage

_ADVICE = (
    "Say in a few words what {agent} should change, or that it is good as it is. Do not do the work"
    " yourself."
)


@dataclass
class ApiExpert:
    """Reads what everybody wrote and advises each author, in one request each."""

    model: str
    """Name by which the server knows the model."""
    base_url: str = "http://localhost:8000/v1"
    """Address before `/chat/completions`."""
    api_key_env: str | None = None
    """Environment variable that holds the key. None: no key is sent."""
    instruction: str = _ADVICE
    """What is asked for; `{agent}` stands for who is advised."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """How much is asked at a time, and how patiently."""
    speech: ApiSamplingSettings = field(
        default_factory=lambda: ApiSamplingSettings(explain_silence=False)
    )
    """How the expert speaks: greedily, and with no silence word."""
    prices: Prices = field(default_factory=Prices)
    """What its tokens cost."""

    def __post_init__(self) -> None:
        """Check what can be checked without asking."""
        self._server = Server(
            self.base_url, self.model, self.api_key_env, self.limits, key_group="env.expert"
        )
        self._lock = threading.Lock()
        self._spent = Usage()

    @property
    def spent(self) -> Usage:
        """What all advice so far took."""
        return self._spent

    def __call__(self, task: Task, written: Mapping[str, str]) -> dict[str, str]:
        """What each author is told.

        Args:
            task: what they work at.
            written: what each agent wrote last; who is not in it is not advised.

        Raises:
            ServerError: the expert gives no usable answer.
        """
        # Indented as in messages, so that nothing an agent wrote can pose as another's work.
        works = "\n\n".join(f"{agent} wrote: {indented(text)}" for agent, text in written.items())
        bodies = [
            {
                "messages": [{"role": "user", "content": self._question(task, works, agent)}],
                **self.speech.fields(None, seed=0, greedy=True),
            }
            for agent in written
        ]
        answers = dict(client_of(self._server).stream(bodies))
        for answer in answers.values():
            with self._lock:
                self._spent += replace(answer.usage, cost=self.prices.cost(answer.usage))
        return {agent: answers[place].text.strip() for place, agent in enumerate(written)}

    def _question(self, task: Task, works: str, agent: str) -> str:
        asked = self.instruction.replace("{agent}", agent)
        return well_formed(f"The task:\n{task.text}\n\n{works}\n\n{asked}")
