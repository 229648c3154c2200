"""What is a loss term told? One batch, and what the policy says about it, computed once and shared by all terms."""

from collections.abc import Sequence
from typing import Any

from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from mimetic.errors import ComponentFailedError, MimeticError
from mimetic.losses.readings import Reader, Reading, policy_reader
from mimetic.policies.origins import policy_title


class LossInputs:
    """A batch of B rows and, lazily, the policy's view of it. Terms read it and change nothing.

    Each property is computed when the first term asks for it; what no term asks for costs nothing.
    """

    __slots__ = (
        "_distribution",
        "_entropy",
        "_has_entropy",
        "_log_prob",
        "_parameters",
        "_reader",
        "_reading",
        "acts",
        "obs",
        "policy",
    )

    def __init__(
        self,
        policy: ActorCriticPolicy,
        obs: Any,
        acts: Tensor,
        *,
        reader: Reader | None = None,
        parameters: Sequence[Tensor] | None = None,
    ) -> None:
        """Take a batch as tensors on the policy's device.

        Args:
            policy: what is trained.
            obs: ``(B, *O)``, or a mapping of such tensors, nested to any depth.
            acts: ``(B, *A)``, the environment's actions.
            reader: ``policy_reader(policy)``, kept by a loop that asks the same policy many times.
            parameters: ``list(policy.parameters())``, kept for the same reason.
        """
        self.policy = policy
        self.obs = obs
        self.acts = acts
        self._reader = reader
        self._parameters = parameters
        self._reading: Reading | None = None
        self._log_prob: Tensor | None = None
        self._entropy: Tensor | None = None
        self._has_entropy = False
        self._distribution: Any = None

    @property
    def log_prob(self) -> Tensor:
        """``log p(act | obs)`` of every row, (B,), in nats."""
        if self._log_prob is None:
            log_prob = self._ask("log_prob")
            if log_prob.shape != self.acts.shape[:1]:
                raise self._blame(
                    f"gave log-probabilities of shape {tuple(log_prob.shape)} for actions of shape "
                    f"{tuple(self.acts.shape)}; expected ({len(self.acts)},), one a row"
                )
            self._log_prob = log_prob
        return self._log_prob

    @property
    def entropy(self) -> Tensor | None:
        """The entropy of the policy's actions in every row, (B,), in nats; None when it has no closed form."""
        if not self._has_entropy:
            self._entropy = self._ask("entropy")
            self._has_entropy = True
        return self._entropy

    @property
    def distribution(self) -> Any:
        """stable-baselines3's distribution over the actions, in its own coordinates (see ``targets``)."""
        if self._distribution is None:
            self._distribution = self._ask("distribution")
        return self._distribution

    @property
    def targets(self) -> Tensor:
        """``acts`` as ``distribution`` takes them: flat, categories from 0, (B,) for one category, else (B, D)."""
        targets: Tensor = self._ask("targets")
        return targets

    @property
    def parameters(self) -> Sequence[Tensor]:
        """Every parameter of the policy, value network included."""
        if self._parameters is None:
            self._parameters = list(self.policy.parameters())
        return self._parameters

    def _ask(self, what: str) -> Any:
        """Let the policy answer; what it raises is the policy's fault, not that of the term that asked."""
        try:
            if self._reading is None:
                reader = self._reader or policy_reader(self.policy)
                self._reading = reader(self.obs, self.acts)
            return getattr(self._reading, what)
        except MimeticError:
            raise
        except Exception as error:
            raise self._blame(f"raised {type(error).__name__}: {error}") from error

    def _blame(self, what: str) -> ComponentFailedError:
        return ComponentFailedError(f"{policy_title(self.policy)} {what}")
