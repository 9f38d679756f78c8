"""Provide any game of TextArena as an environment with priced talk.

The rules are those of the game. Players `player_0`, `player_1`, ... take turns as the game says. A
player who is not in turn has a budget of 0 and is not asked. A message is passed to the game on one
line. Text in brackets is an act (`[bet]`); all other text is talk, which the other players read and
which costs its speaker. One bracket per message is free, up to `act_tokens` tokens, so brackets do
not make talk free. The game reads silence as an empty act, mostly an invalid move.

Observations are `{"text": any string, "tokens_left": int32 array (4,)}`, as in `envs.dialogue`. The
text is the game's output for the player since its last turn, beginning with the rules. The reward
of a player is minus the price of its talk, and at the end the outcome of the game: (r + 1) / 2 for
TextArena's r from -1 (lost) to 1 (won), or r itself.

A game is truncated after `rounds` turns, and terminated when the episode budget is spent. Both are
lost for all players. `score` is the outcome of `player_0`, from 0 to 1; above 1/2 it is `solved`.

Source: TextArena (github.com/LeonGuertler/TextArena), tested with 0.7.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import textarena
from gymnasium.utils import seeding
from textarena.envs.registration import ENV_REGISTRY

from laconic.envs.checks import Count, Whole, checked, choice
from laconic.envs.dialogue.budget import (
    Budget,
    Ledger,
    Tokenize,
    cut,
    replace_surrogates,
    split_words,
)
from laconic.envs.dialogue.messages import Message, indented, show
from laconic.envs.dialogue.reward import Pay, Reward
from laconic.envs.dialogue.roster import check_actions
from laconic.envs.dialogue.team import Infos, Observations, StepResult, TextEnv
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.extras.interop.generators import OwnGenerators

__all__ = ["TextArena", "games"]

_ACT = re.compile(r"\[[^\[\]]*\]")
_RAW = "-raw"
"""Suffix of games that show only new text, as our environments do."""


class TextArena(TextEnv):
    """A game of TextArena.

    Args:
        game: id of the game, e.g. `KuhnPoker-v0`; `games()` lists them.
        players: number of players, as the game allows.
        settings: settings of the game, e.g. `{"max_rounds": 5}`.
        split: `train` or `evaluation`, whose games have different seeds.
        tasks: number of differently dealt games.
        rounds: number of turns after which a game is truncated.
        budget: caps on messages; `round` is a turn.
        reward: price of talk; `price`, `normalizer` and `charge` (`own`, `team`) are used.
        outcome: `unit` pays (r + 1) / 2, so that silence loses nothing; `raw` pays r.
        act_tokens: number of free tokens of one bracketed act per message.
        tokenize: cuts text into tokens; a policy brings its own.
        render_mode: None or `ansi`.

    Raises:
        UnknownNameError: there is no such game.
        SettingError: a setting is out of range, or the game refuses the settings.
    """

    metadata: dict[str, Any] = {
        "name": "laconic_textarena_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": True,
        "reward": "own",
        "when": "always",
        "charge": "own",
        "max_reward": 1.0,
    }

    @checked("env")
    def __init__(
        self,
        game: str = "KuhnPoker-v0",
        *,
        players: Count = 2,
        settings: Mapping[str, Any] | None = None,
        split: Literal["train", "evaluation"] = "train",
        tasks: Count = 1000,
        rounds: Count = 200,
        budget: Budget | None = None,
        reward: Reward | None = None,
        outcome: Literal["unit", "raw"] = "unit",
        act_tokens: Whole = 16,
        tokenize: Tokenize = split_words,
        render_mode: Literal["ansi"] | None = None,
    ) -> None:
        """Make the game and check that it allows this number of players."""
        self.rounds, self.outcome, self.act_tokens = rounds, outcome, act_tokens
        self.render_mode = render_mode
        self.budget, self.reward = budget or Budget(), reward or Reward()
        if self.reward.charge == "listeners" or self.reward.read_price:
            raise SettingError(
                "a game of TextArena does not say who hears a message; set env.reward.charge=own or"
                f" team and env.reward.read_price=0; got charge={self.reward.charge} and"
                f" read_price={self.reward.read_price}"
            )
        if self.reward.round_price:
            raise SettingError(
                "env.reward.round_price is the price of time of a team that is paid alike, and each"
                " player of TextArena is paid its own result: expected 0, got"
                f" {self.reward.round_price:g}; leave it out"
            )
        self.tokenize = tokenize
        odd = split == "evaluation"
        self.tasks = {f"{split}/{number}": 2 * number + odd for number in range(tasks)}
        self._take_seats(f"player_{number}" for number in range(players))
        self._generator: np.random.Generator | None = None
        self._random = OwnGenerators()
        games_by_name = {name.removesuffix(_RAW): name for name in sorted(ENV_REGISTRY)}
        self._name = games_by_name[choice("env.game", game.removesuffix(_RAW), games_by_name)]
        self._settings = dict(settings or {})
        self._try(players)
        self.messages: list[Message] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Deal a game and return the observations and infos of all players.

        Args:
            seed: seed of the environment's generator, which draws the game; None continues it.
            options: `{"task": key}` names the game. Other options are ignored.

        Raises:
            UnknownNameError: there is no task of that key.
        """
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        drawn_task = list(self.tasks)[int(self._generator.integers(len(self.tasks)))]
        self.task = str((options or {}).get("task", drawn_task))
        if self.task not in self.tasks:
            raise UnknownNameError("task", self.task, self.tasks)
        self.agents, self.messages = list(self.possible_agents), []
        self.round = 0
        self.ledger = Ledger(self.budget, self.agents)
        self._latest: Message | None = None
        self._paid: dict[str, Pay] = {}
        self._deal(len(self.agents), self.tasks[self.task])
        observations = self._observe()
        return observations, {agent: self._info(agent) for agent in self.agents}

    def step(self, actions: Mapping[str, str]) -> StepResult:
        """Play one turn; actions of players who are not in turn are ignored.

        Raises:
            UnknownNameError: an action is not of a player of this game.
            SettingError: an action is not a string.
        """
        agents = tuple(self.agents)
        if not agents:
            return {}, {}, {}, {}, {}
        check_actions(actions, self.possible_agents)
        message = self._speak(self._turn, actions.get(self._turn, ""))
        self._latest = message
        self.messages.append(message)
        broke = ""
        with self._random():
            try:
                terminated, _ = self.game.step(action=message.text)
            except Exception as error:
                # A game may fail on an act; text of a policy must not raise.
                terminated, broke = True, f"the game broke on this act: {error!r}"
        self.round += 1
        ended_by = "rules" if terminated else "budget" if self.ledger.spent else ""
        # Observations show the budget that is left, but not the limit on turns.
        truncated = not ended_by and self.round == self.rounds
        ended_by = "rounds" if truncated else ended_by
        self.ledger.start_round()
        tokens = {**dict.fromkeys(agents, 0.0), message.agent: self._charged(message)}
        bills, charges = self.reward.bills_and_charges(tokens)
        task_rewards = dict.fromkeys(agents, 0.0)
        end: dict[str, Any] = {}
        if ended_by:
            self.agents = []
            results = self._results(broke, terminated)
            worth, score = _WORTH[self.outcome], _unit(results[agents[0]])
            task_rewards = {agent: worth(results[agent]) for agent in agents}
            end = {"score": score, "solved": score > 0.5, "reason": broke or self._reason()}
            end["ended_by"] = ended_by
        observations = self._observe()
        self._paid = {a: Pay(task_rewards[a], bills[a], charges[a]) for a in agents}
        rewards = {agent: pay.reward for agent, pay in self._paid.items()}
        infos = {agent: {**self._info(agent), **end} for agent in agents}
        over = bool(ended_by) and not truncated
        endings = dict.fromkeys(agents, over), dict.fromkeys(agents, truncated)
        return observations, rewards, *endings, infos

    def render(self) -> str | None:
        """Return the transcript so far in mode `ansi`."""
        return show(self.messages) if self.render_mode == "ansi" else None

    def _deal(self, players: int, seed: int) -> None:
        """Start a new game object, because a played one keeps its shuffled deck."""
        self._random.seed(seed)
        with self._random():
            self.game = textarena.make(self._name, **self._settings)
            self.game.reset(num_players=players, seed=seed)

    def _try(self, players: int) -> None:
        """Start a game to check that it allows this number of players."""
        try:
            self._deal(players, 0)
        except Exception as error:
            lines = (line.strip("* ") for line in str(error).splitlines())
            reason = next(filter(None, lines), "")
            raise SettingError(
                f"TextArena's {self._name.removesuffix(_RAW)} cannot be played here by {players}"
                f" with {self._settings}: {type(error).__name__}: {reason}"
            ) from error

    @property
    def _turn(self) -> str:
        return self.possible_agents[int(self.game.state.current_player_id)]

    def _speak(self, agent: str, action: str) -> Message:
        """Return the published message of an action: one line, within the budget."""
        wish = " ".join(replace_surrogates(action).split())
        tokens_left = self.ledger.left(agent)[0]
        text, tokens = cut(wish, tokens_left, self.tokenize)
        self.ledger.charge(agent, tokens)
        return Message(agent, self.round, text, tokens, text != wish)

    def _charged(self, message: Message) -> float:
        """Return the charged tokens of a message, without the free tokens of its last act."""
        acts = _ACT.findall(message.text)
        free = min(len(self.tokenize(acts[-1])), self.act_tokens) if acts else 0
        return max(0, message.tokens - free)

    def _results(self, broke: str, terminated: bool) -> dict[str, float]:
        """Return TextArena's reward of each player; a truncated game is lost for all."""
        if not terminated:
            return dict.fromkeys(self.possible_agents, -1.0)
        if broke:
            lost = self._latest.agent if self._latest else ""
            return {agent: -1.0 if agent == lost else 0.0 for agent in self.possible_agents}
        rewards = self.game.state.rewards or {}
        return {a: float(rewards.get(place, 0)) for place, a in enumerate(self.possible_agents)}

    def _reason(self) -> str:
        players = getattr(self.game.state, "game_info", None) or {}
        return str(
            next((player["reason"] for player in players.values() if "reason" in player), "")
        )

    def _observe(self) -> Observations:
        """Return the observations; only the player in turn gets new text."""
        texts = dict.fromkeys(self.possible_agents, "")
        if self.agents:
            with self._random():
                place, view = self.game.get_observation()
            agent = self.possible_agents[place]
            texts[agent] = _shown_text(view, place)
            self.ledger.read[agent] += len(self.tokenize(texts[agent]))
        return {
            agent: {"text": text, "tokens_left": np.array(self._left(agent), dtype=np.int32)}
            for agent, text in texts.items()
        }

    def _left(self, agent: str) -> tuple[int, ...]:
        tokens_left = self.ledger.left(agent)
        return tokens_left if self.agents and agent == self._turn else (0, *tokens_left[1:])

    def _info(self, agent: str) -> dict[str, Any]:
        latest = self._latest if self._latest and self._latest.agent == agent else None
        return {
            "task": self.task,
            "round": self.round,
            "rounds": self.rounds,
            "message": latest.text if latest else "",
            "cut": latest.cut if latest else False,
            "tokens_said": self.ledger.said[agent],
            "tokens_read": self.ledger.read[agent],
            **self._paid.get(agent, Pay()).info,
        }


def games() -> tuple[str, ...]:
    """Return the ids of all games in alphabetical order."""
    return tuple(sorted({name.removesuffix(_RAW) for name in ENV_REGISTRY}))


def _shown_text(view: str | Iterable[tuple[int, str, Any]], place: int) -> str:
    """Return the text that a player sees, without its own acts. No line can pose as another's."""
    if isinstance(view, str):
        return view
    lines = []
    for speaker, text, kind in view:
        if kind == textarena.ObservationType.PROMPT:
            lines.append(text.strip())
        elif speaker != place:
            who = "GAME" if speaker == textarena.GAME_ID else f"player_{speaker}"
            lines.append(f"{who}: {indented(text.strip())}")
    return "\n".join(lines)


def _unit(result: float) -> float:
    """Scale a result from [-1, 1] to [0, 1]."""
    return min(max((result + 1) / 2, 0.0), 1.0)


_WORTH: Mapping[str, Callable[[float], float]] = {"unit": _unit, "raw": float}
"""Kind of outcome -> final reward of a player for TextArena's reward."""
