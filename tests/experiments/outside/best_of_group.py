"""An algorithm of a user's own: imitate the best episode of every group.

It uses what the package offers (sequences, batches, log-probabilities) and no learner of it:

    python -m experiments.train ~learner +learner._target_=best_of_group.BestOfGroup
"""

from __future__ import annotations

from dataclasses import replace

from learners.advantages import Advantages
from learners.credit import team
from learners.logprobs import current_logprobs
from learners.sequences import collate, sequences_of


class BestOfGroup:
    """One step per update on the likelihood of what the best paid team of each group said."""

    def __init__(self, policies, optimizer, margin=0.0):
        """Take the policies of the agents and a maker of optimisers, as every learner does."""
        self.policy = next(iter(policies.values()))
        if any(policy is not self.policy for policy in policies.values()):
            raise ValueError("BestOfGroup trains one shared policy; set agent.sharing=shared")
        self.optimizer = optimizer(self.policy.model.parameters())
        self.margin = margin

    def update(self, groups):
        """Learn from groups of episodes; returns metrics."""
        sequences = [sequence for group in groups for sequence in self.best(group)]
        if not sequences:
            return {"imitated": 0.0}
        batch = collate(sequences, self.policy.pad_id).to(self.policy.device)
        logprobs = current_logprobs(self.policy.model, batch, self.policy.speech.temperature)
        loss = -logprobs[batch.generated_mask].mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": float(loss.detach()), "imitated": float(len(sequences))}

    def best(self, group):
        """The sequences of the best episode, if it beats the mean by more than the margin."""
        compare = Advantages(group_by=("task",), scale="none")
        made = sequences_of(group, credit=team, advantages=compare)
        best = max((one.advantage for one in made), default=0.0)
        if best <= self.margin:
            return []
        return [replace(one, advantage=1.0) for one in made if one.advantage == best]

    def state_dict(self):
        """With this and the next its runs can be resumed."""
        return {
            "model": self.policy.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state):
        """Go on from such a state."""
        self.policy.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
