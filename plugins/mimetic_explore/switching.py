"""How does a policy explore in any action space? By handing over to uniformly random actions now and then."""

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_wrapper

from mimetic.errors import ConfigError
from mimetic.hookspecs import WrapperContext
from mimetic.policies import Actor, UniformActor, as_actor
from mimetic.policies.actors import EpisodeStreams
from mimetic.seeding import derive_seed
from mimetic.types import Observations, n_rows
from mimetic_explore.config import EpsilonGreedyConfig, SwitchingConfig

STREAM = "explore: switching"


def build(config: SwitchingConfig, context: WrapperContext) -> "SwitchingActor":
    """Let the actor of a ``WrapperContext`` switch to random actions and back."""
    return SwitchingActor(
        context.wrapped,
        context.action_space,
        random_prob=config.random_prob,
        switch_prob=config.switch_prob,
        n_envs=context.n_envs,
        seed=context.seed,
        shared_switch=config.shared_switch,
    )


def build_epsilon_greedy(config: EpsilonGreedyConfig, context: WrapperContext) -> "SwitchingActor":
    """Let the actor of a ``WrapperContext`` take a random action with probability ``epsilon``, each step for itself."""
    return SwitchingActor(
        context.wrapped,
        context.action_space,
        random_prob=config.epsilon,
        switch_prob=1.0,
        n_envs=context.n_envs,
        seed=context.seed,
    )


class SwitchingActor(Actor):
    """Acts by itself or at random, chosen anew for each environment now and then.

    At the beginning of an episode, and after each of its steps with probability ``switch_prob``, a choice is made:
    random actions with probability ``random_prob``, else the actor's. Environments choose independently, from the
    stream of their episode. With ``shared_switch`` there is one choice for all of them, made once at the start and
    after steps, and no episode interrupts it.

    The actor sees every observation, so what a recurrent one remembers goes on through random steps.
    ``last_infos["explored"]`` is true for each random action.
    """

    def __init__(
        self,
        actor: Actor,
        action_space: gym.Space[Any],
        *,
        random_prob: float,
        switch_prob: float,
        n_envs: int,
        seed: int = 0,
        shared_switch: bool = False,
    ) -> None:
        """Explore with ``actor`` in ``n_envs`` environments.

        What an episode explores comes from its seed and from ``seed``; where none was begun, from ``seed`` alone.

        Raises:
            ConfigError: A probability does not lie between 0 and 1.
        """
        self.random_prob = _probability("random_prob", random_prob)
        self.switch_prob = _probability("switch_prob", switch_prob)
        self.shared_switch = shared_switch
        self.recurrent = actor.recurrent
        self.seeded = actor.seeded and not shared_switch
        self._actor = actor
        self._seed = seed
        self._random = UniformActor(action_space, derive_seed(seed, STREAM))
        self._streams = EpisodeStreams(seed, STREAM)
        self._n_choices = 1 if shared_switch else n_envs
        self._explores = np.array([self._choose(i) for i in range(self._n_choices)])
        self._chosen = np.ones(self._n_choices, bool)  # for the step that comes, already

    def begin_episode(self, env_index: int, seed: int) -> None:
        """Start the environment's streams again, and choose from them."""
        self._actor.begin_episode(env_index, seed)
        own_seed = derive_seed(seed, STREAM, self._seed)
        self._random.begin_episode(env_index, own_seed)
        if not self.shared_switch:
            self._streams.begin(env_index, own_seed)
            self._explores[env_index] = self._choose(env_index)
            self._chosen[env_index] = True

    def __call__(self, obs: Observations, state: Any, episode_start: np.ndarray | None) -> tuple[np.ndarray, Any]:
        """Return an action for each environment, then choose who makes the next ones."""
        if episode_start is None:
            episode_start = np.zeros(n_rows(obs), bool)
        if not self.shared_switch:
            self._choose_where(episode_start & ~self._chosen)
        acts, state = self._actor(obs, state, episode_start)
        random_acts, _ = self._random(obs, None, episode_start)  # for all: a stream knows nothing of other choices
        explored = np.broadcast_to(self._explores, len(acts)).copy()
        acts = np.where(explored.reshape(-1, *[1] * (acts.ndim - 1)), random_acts, acts).astype(acts.dtype)
        self.last_infos = {**self._actor.last_infos, "explored": explored}
        self._chosen[:] = False
        self._choose_where([self._streams[i].random() < self.switch_prob for i in range(self._n_choices)])
        return acts, state

    def _choose_where(self, due: Iterable[bool]) -> None:
        for i, is_due in enumerate(due):
            if is_due:
                self._explores[i] = self._choose(i)

    def _choose(self, index: int) -> bool:
        return bool(self._streams[index].random() < self.random_prob)


class ExplorationWrapper(SwitchingActor):
    """A policy that explores by random actions: the reference library's class, with its arguments.

    A callable ``(obs, state, episode_start) -> (acts, state)``, as rollouts take it.
    """

    def __init__(
        self,
        policy: Any,
        venv: VecEnv,
        random_prob: float,
        switch_prob: float,
        rng: np.random.Generator,
        deterministic_policy: bool = False,
        *,
        shared_switch: bool = False,
    ) -> None:
        """Explore with ``policy`` in ``venv``.

        Args:
            policy: Whatever can be rolled out; None is uniformly random.
            venv: Where it acts.
            random_prob: How likely a choice falls on random actions.
            switch_prob: How likely a choice is made anew after a step; 1 is epsilon-greedy.
            rng: What every draw comes from.
            deterministic_policy: Whether the policy's own actions are its most likely ones.
            shared_switch: One choice for all environments, as in the reference library; else each has its own, made
                anew at the start of each of its episodes.

        Raises:
            ConfigError: A probability does not lie between 0 and 1.
        """
        policy_seed, seed = (int(drawn) for drawn in rng.integers(2**31, size=2))
        actor = as_actor(
            policy,
            observation_space=venv.observation_space,
            action_space=venv.action_space,
            n_envs=venv.num_envs,
            deterministic=deterministic_policy,
            seed=policy_seed,
            observations_normalized=unwrap_vec_wrapper(venv, VecNormalize) is not None,
        )
        super().__init__(
            actor,
            venv.action_space,
            random_prob=random_prob,
            switch_prob=switch_prob,
            n_envs=venv.num_envs,
            seed=seed,
            shared_switch=shared_switch,
        )


def _probability(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} is {value}; a probability lies between 0 and 1")
    return value
