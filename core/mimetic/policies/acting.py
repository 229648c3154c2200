"""How does any policy become an actor? Whatever it is: one of ours, SB3's, an algorithm, a callable, or nothing.

``exact`` asks for actions whose bits do not depend on how many environments run beside each other. Plain feed-forward
layers are calculated in float64 (``plain_network``), SB3's own with the bits of its ``predict`` (``row_network``),
others in blocks of a fixed number of rows (``torch_network``), and what is more than layers row by row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.sac.policies import Actor as SacActor

from mimetic.errors import SpaceError
from mimetic.policies.actor_critic import MimeticPolicy, codec_of
from mimetic.policies.actors import Actor, EpisodeStreams, UniformActor
from mimetic.policies.choices import CATEGORY, GAUSSIAN, Choose, Chooser, Parameters, chooser_of, parameters_of
from mimetic.policies.fit import require_fit
from mimetic.policies.noise import EpisodeNoise, Noise, SharedNoise
from mimetic.policies.plain_network import plain_network
from mimetic.policies.row_network import row_network
from mimetic.policies.structure import structure_of
from mimetic.policies.torch_network import TorchNetwork
from mimetic.seeding import generator
from mimetic.spaces import ActionCodec
from mimetic.types.observations import Observations, take_rows

if TYPE_CHECKING:
    import gymnasium as gym
    from stable_baselines3.common.vec_env import VecNormalize

STREAM = "actions"
"""The name of the stream that an episode's stochastic actions are drawn from."""


class Predictor(Protocol):
    """What SB3's policies and algorithms have in common."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]:
        """Choose actions for a batch of observations."""


def as_actor(
    policy: Any,
    *,
    observation_space: gym.Space[Any],
    action_space: gym.Space[Any],
    n_envs: int,
    deterministic: bool,
    exact: bool = False,
    seed: int = 0,
    observations_normalized: bool = False,
) -> Actor:
    """Make an actor of a policy.

    Args:
        policy: an SB3 algorithm or policy (ours are such), a callable ``(obs, state, episode_start) -> (acts, state)``,
            an actor, or None for uniformly random actions.
        observation_space: what the environments offer; an SB3 policy's own space must fit.
        action_space: what the environments take.
        n_envs: how many environments there are.
        deterministic: the most likely action instead of a drawn one; a callable decides for itself.
        exact: the bits of an action do not depend on ``n_envs``.
        seed: where draws come from for an environment that ``begin_episode`` was not called for.
        observations_normalized: the environments already apply the VecNormalize statistics of an SB3 algorithm.

    Raises:
        SpaceError: the policy was made for other spaces.
        TypeError: it is nothing of the above.
    """
    if policy is None:
        return UniformActor(action_space, seed)
    if isinstance(policy, Actor):
        return policy
    if isinstance(policy, BaseAlgorithm | BasePolicy):
        require_fit(policy, observation_space, action_space)
        actor = _sb3_actor(policy, deterministic, exact, seed)
        statistics = policy.get_vec_normalize_env() if isinstance(policy, BaseAlgorithm) else None
        if statistics is not None and statistics.norm_obs and not observations_normalized:
            return NormalizingActor(actor, statistics)
        return actor
    if callable(policy):
        return CallableActor(policy, ActionCodec(action_space), seeded=deterministic)
    raise TypeError(
        f"a policy is an SB3 algorithm or policy, a callable (obs, state, episode_start) -> (acts, state), "
        f"or None for random actions; got a {type(policy).__name__}"
    )


def _sb3_actor(policy: BaseAlgorithm | BasePolicy, deterministic: bool, exact: bool, seed: int) -> Actor:
    model = policy.policy if isinstance(policy, BaseAlgorithm) else policy
    predicts_itself = isinstance(policy, BaseAlgorithm) and type(policy).predict is not BaseAlgorithm.predict
    if not predicts_itself:
        known = _network_actor(model, deterministic, exact, seed) or _drawing_actor(model, deterministic, exact, seed)
        if known is not None:
            return known
    actor = PredictingActor(policy, model, seed, deterministic=deterministic, row_by_row=exact)
    actor.seeded = deterministic or (exact and not predicts_itself)
    return actor


def _network_actor(model: BasePolicy, deterministic: bool, exact: bool, seed: int) -> NetworkActor | None:
    """Return what acts for a policy that is nothing but layers and, it may be, a distribution; None for others."""
    structure = structure_of(model)
    if structure is None:
        return None
    network: Network | None = plain_network(structure, exact=exact) or (row_network(structure) if exact else None)
    network = network or TorchNetwork(structure, exact=exact)
    if isinstance(model, ActorCriticPolicy):
        chooser = chooser_of(model.action_dist)
        if chooser is None:
            return None
        noise = None if deterministic else _noise(chooser, exact, seed)
        return NetworkActor(model, network, chooser.choose, codec_of(model).decode_numpy, noise)
    if isinstance(model.action_space, spaces.Discrete):
        return NetworkActor(model, network, CATEGORY.choose, ActionCodec(model.action_space).decode_numpy, None)
    if isinstance(model, SacActor) and not deterministic:
        return None
    return NetworkActor(model, network, GAUSSIAN.choose, partial(_unscaled, model), None)


def _drawing_actor(model: BasePolicy, deterministic: bool, exact: bool, seed: int) -> DrawingActor | None:
    """Return what draws from the distribution that an actor-critic policy gives; None when that is not how it acts."""
    if deterministic or not isinstance(model, ActorCriticPolicy) or not _has_own_draw(model):
        return None
    chooser = chooser_of(model.action_dist)
    if chooser is None:
        return None
    return DrawingActor(model, chooser.choose, _noise(chooser, exact, seed), row_by_row=exact)


def _noise(chooser: Chooser, exact: bool, seed: int) -> Noise:
    if exact:
        return EpisodeNoise(EpisodeStreams(seed, STREAM), chooser.draw)
    return SharedNoise(seed, STREAM, chooser.draw)


def _unscaled(policy: BasePolicy, acts: np.ndarray) -> np.ndarray:
    """Map actions in [-1, 1] to the bounds of the space, as SB3 does."""
    unscaled = policy.unscale_action(acts.reshape(-1, *(policy.action_space.shape or ())))
    return ActionCodec(policy.action_space).clip(unscaled)


class Network(Protocol):
    """Observations in, outputs for each action out."""

    has_modes: bool
    """Whether it may act otherwise in training mode than in evaluation mode."""

    def __call__(self, obs: Observations, /) -> np.ndarray:
        """``(n, *O) -> (n, K)``: means, logits or values."""

    def deviations(self) -> np.ndarray | None:
        """Return the standard deviations ``(D,)`` when the outputs are means, else None."""


class NetworkActor(Actor):
    """A policy that is a network, and a choice among or around what it gives."""

    def __init__(
        self,
        policy: BasePolicy,
        network: Network,
        choose: Choose,
        decode: Callable[[np.ndarray], np.ndarray],
        noise: Noise | None,
    ) -> None:
        self._policy, self._network = policy, network
        self._choose, self._decode, self._noise = choose, decode, noise
        self.seeded = noise is None or noise.seeded

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Choose one action for each environment."""
        if self._network.has_modes and self._policy.training:
            with evaluating(self._policy):
                outputs = self._network(obs)
        else:
            outputs = self._network(obs)
        if self._noise is None:
            return self._decode(self._choose(outputs, None, None)), state
        noise = self._noise.rows(*outputs.shape)
        return self._decode(self._choose(outputs, self._network.deviations(), noise)), state

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's stream again."""
        if self._noise is not None:
            self._noise.begin(env_index, seed)


class DrawingActor(Actor):
    """A stochastic actor-critic policy with ways of its own to a distribution that is known."""

    def __init__(self, policy: ActorCriticPolicy, choose: Choose, noise: Noise, *, row_by_row: bool) -> None:
        self._policy, self._choose, self._noise, self._row_by_row = policy, choose, noise, row_by_row
        self._codec = codec_of(policy)
        self.seeded = noise.seeded

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Draw one action for each environment."""
        n = len(episode_start)
        batches = [slice(row, row + 1) for row in range(n)] if self._row_by_row else [slice(0, n)]
        with evaluating(self._policy), torch.no_grad():
            parts = [self._parameters(take_rows(obs, batch)) for batch in batches]
        outputs = np.concatenate([part.outputs for part in parts])
        deviations = [part.deviations for part in parts if part.deviations is not None]
        noise = self._noise.rows(*outputs.shape)
        encoded = self._choose(outputs, np.concatenate(deviations) if deviations else None, noise)
        return self._codec.decode_numpy(encoded), state

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's stream again."""
        self._noise.begin(env_index, seed)

    def _parameters(self, obs: Observations) -> Parameters:
        tensors, _ = self._policy.obs_to_tensor(obs)  # type: ignore[arg-type]  # SB3 knows dict alone
        return parameters_of(self._policy.get_distribution(tensors))


class PredictingActor(Actor):
    """Anything with SB3's ``predict``, recurrent ones included: all rows at once, or one call a row.

    Row by row each environment has its own recurrent state. What ``predict`` draws from torch's global generator
    begins from the episode's stream then, else from one for all; the global one is left as it was.
    """

    def __init__(
        self, predictor: Predictor, policy: BasePolicy, seed: int, *, deterministic: bool, row_by_row: bool
    ) -> None:
        self._predictor, self._policy = predictor, policy
        self._streams, self._stream = EpisodeStreams(seed, STREAM), generator(seed, STREAM)
        self._deterministic, self._row_by_row = deterministic, row_by_row
        self._clip = ActionCodec(policy.action_space).clip
        contrib = any(kind.__name__ == "RecurrentActorCriticPolicy" for kind in type(policy).__mro__)
        self.recurrent = contrib or getattr(policy, "recurrent", False) is True

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Choose one action for each environment; row by row, ``state`` is a list with one state a row."""
        with evaluating(self._policy):
            if not self._row_by_row:
                acts, state = self._predict(obs, state, episode_start, self._stream)
                return self._clip(np.asarray(acts)), state
            n = len(episode_start)
            states = [None] * n if state is None else state
            results = [
                self._predict(
                    take_rows(obs, slice(row, row + 1)), states[row], episode_start[row : row + 1], self._streams[row]
                )
                for row in range(n)
            ]
        return self._clip(np.concatenate([acts for acts, _ in results])), [state for _, state in results]

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's stream again."""
        self._streams.begin(env_index, seed)

    def _predict(
        self, obs: Observations, state: Any, episode_start: np.ndarray, stream: np.random.Generator
    ) -> tuple[np.ndarray, Any]:
        if self._deterministic:
            return self._predictor.predict(obs, state, episode_start, True)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(stream.integers(2**63)))
            return self._predictor.predict(obs, state, episode_start, False)


class NormalizingActor(Actor):
    """An actor whose policy learned under VecNormalize: it sees normalised observations, nothing is counted."""

    def __init__(self, actor: Actor, statistics: VecNormalize) -> None:
        self._actor, self._statistics = actor, statistics
        self.recurrent, self.seeded = actor.recurrent, actor.seeded

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Normalise, then act."""
        return self._actor(self._statistics.normalize_obs(obs), state, episode_start)  # type: ignore[arg-type]  # SB3 knows dict alone

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Tell the actor inside."""
        self._actor.begin_episode(env_index, seed)


class CallableActor(Actor):
    """A callable ``(obs, state, episode_start) -> (acts, state)``, with what it gives checked and clipped."""

    def __init__(self, function: Callable[..., Any], codec: ActionCodec, *, seeded: bool) -> None:
        self._function, self._codec = function, codec
        self.seeded = seeded

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Call it with all environments at once."""
        result = self._function(obs, state, episode_start)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"the policy {self._function!r} returned a {type(result).__name__}; expected the pair (actions, state)"
            )
        acts = np.asarray(result[0].detach().cpu() if isinstance(result[0], torch.Tensor) else result[0])
        if acts.ndim == 0 or len(acts) != len(episode_start):
            raise SpaceError(
                f"the policy {self._function!r} returned actions of shape {acts.shape} for {len(episode_start)} "
                f"environments; expected ({len(episode_start)}, ...)"
            )
        return self._codec.clip(acts), result[1]


@contextlib.contextmanager
def evaluating(policy: BasePolicy) -> Iterator[None]:
    """Put a policy into evaluation mode, and back: SB3's ``predict`` leaves it there, and training would go on so."""
    was_training = policy.training
    if was_training:
        policy.set_training_mode(False)
    try:
        yield
    finally:
        if policy.training != was_training:
            policy.set_training_mode(was_training)


def _has_own_draw(policy: ActorCriticPolicy) -> bool:
    """Whether ``predict`` does nothing but draw from ``get_distribution``."""
    kind = type(policy)
    parent = MimeticPolicy if isinstance(policy, MimeticPolicy) else ActorCriticPolicy
    of_the_parent = kind.predict is parent.predict and kind._predict is parent._predict
    return of_the_parent and not {"predict", "_predict"} & vars(policy).keys()
