"""Which episode does an environment play next, and what is known of it when it is over?"""

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import gymnasium as gym

from mimetic.envs.own_reward import OwnReward, RawEpisode
from mimetic.seeding import derive_seed

DEFAULT_MAX_STEPS = 1_000_000
"""An episode that is longer is cut, with a warning: some environments never end."""

PLAYED = "mimetic.episode"
"""The key in the last step's ``info`` that holds the :class:`PlayedEpisode`."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One counted episode: what the JSON of an evaluation says about it."""

    index: int  # its place in 0, 1, 2, ...: which episode this is does not depend on the number of environments
    seed: int | None  # None where the episode cannot be repeated from a seed
    env_index: int
    episode_return: float  # undiscounted sum of the rewards that the policy's side saw
    env_return: float | None  # of the environment's own rewards, whatever wraps it; None when nobody counted them
    length: int  # steps
    terminated: bool  # the task ended
    truncated: bool  # the clock, or the step ceiling, cut it
    is_success: bool | None = None  # None when the environment does not say
    more: Mapping[str, object] = field(default_factory=dict)  # what observers add, e.g. video and frames

    def as_dict(self) -> dict[str, object]:
        """Return the episode's object in the JSON of an evaluation."""
        success = {} if self.is_success is None else {"is_success": self.is_success}
        return {
            "seed": self.seed,
            "env_index": self.env_index,
            "return": self.episode_return,
            "env_return": self.env_return,
            "length": self.length,
            "terminated": self.terminated,
            "truncated": self.truncated,
            **success,
            **self.more,
        }

    def with_more(self, more: Mapping[str, object]) -> Self:
        """Return the record with what an observer adds."""
        return replace(self, more={**self.more, **more})


@dataclass(frozen=True, slots=True, eq=False)
class PlayedEpisode:
    """What an environment reports in ``info`` when one of its planned episodes is over. Pickles small."""

    index: int
    env_return: float
    length: int
    terminated: bool
    truncated: bool
    cut: bool  # by the step ceiling
    is_success: bool | None
    raw: RawEpisode | None  # when the environment records
    next_index: int | None  # None: the environment is parked, all its episodes are played


class EpisodeObserver(gym.Wrapper[Any, Any, Any, Any], ABC):
    """An environment wrapper that wants to know which episode it sees, such as a recorder of videos.

    Whatever makes it unable to work is an error in its constructor: that runs before the first step of anything.
    """

    def begin_episode(self, index: int, seed: int) -> None:
        """Note that the next ``reset`` begins the episode ``index``; called again when a reset is repeated."""

    def finish(self, counted: Sequence[EpisodeRecord]) -> list[Mapping[str, object]]:
        """End the work: called once, after the last step, before ``close``.

        ``counted`` are this environment's counted episodes, in order; episodes that it saw and that are not among
        them count for nothing. Returns one mapping for each of them, merged into its record: paths in it
        (``video``) are relative to the folder that the observer was built with.
        """
        return [{} for _ in counted]


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """Which episodes are played where: environment e plays e, e + n_envs, e + 2 n_envs, ..., each from its own seed."""

    seed: int
    n_envs: int
    n_episodes: int | None
    n_timesteps: int | None
    max_steps: int = DEFAULT_MAX_STEPS  # per episode

    def seed_of(self, index: int) -> int:
        """Return the seed of an episode, which no other number in the plan has a say in."""
        return derive_seed(self.seed, "episode", index)

    def plays(self, index: int, steps_so_far: int) -> bool:
        """Whether an environment that has made ``steps_so_far`` steps goes on with the episode ``index``.

        It stops when the episodes up to its last one are surely enough, which it knows without asking the others.
        """
        enough_episodes = self.n_episodes is None or index >= self.n_episodes
        enough_steps = self.n_timesteps is None or steps_so_far >= self.n_timesteps
        return not (enough_episodes and enough_steps)


class PlannedEpisodes(gym.Wrapper[Any, Any, Any, Any]):
    """The outermost wrapper of an exact evaluation: an environment that knows its episodes.

    A reset begins the next episode that is not over yet, from that episode's seed, whatever the caller passes;
    so a reset straight after a reset replays. When all are played the environment is parked: it stands still at its
    last observation, pays nothing and never ends.
    """

    def __init__(self, env: gym.Env[Any, Any], plan: EpisodePlan, env_index: int) -> None:
        """Wrap ``env``, the plan's environment number ``env_index``; an :class:`OwnReward` must be inside."""
        super().__init__(env)
        self._plan = plan
        self._index = env_index
        self._steps_so_far = 0
        self._length = 0
        self._parked = not plan.plays(env_index, 0)
        self._last_obs: Any = None
        self._own = next(each for each in wrappers_of(env) if isinstance(each, OwnReward))
        self._may_repeat = env is not self._own  # a wrapper in between may make several steps of one
        self._observers = [each for each in wrappers_of(env) if isinstance(each, EpisodeObserver)]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode from its own seed; ``seed`` is ignored."""
        if self._parked:
            if self._last_obs is None:
                self._last_obs = self.observation_space.sample()
            return self._last_obs, {}
        seed = self._plan.seed_of(self._index)
        for observer in self._observers:
            observer.begin_episode(self._index, seed)
        self._own.begin_episode()
        obs, info = self.env.reset(seed=seed, options=options)
        self._own.first_step_follows()
        self._length = 0
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step; the last one of an episode reports it in ``info``."""
        if self._parked:
            return self._last_obs, 0.0, False, False, {}
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._length += 1
        if self._may_repeat:
            self._own.step_is_over()
        cut = self._length >= self._plan.max_steps and not (terminated or truncated)
        if terminated or truncated or cut:
            truncated = bool(cut or truncated) and not terminated
            info = {**info, PLAYED: self._end(obs, bool(terminated), truncated, cut, info)}
        return obs, reward, terminated, truncated, info

    def leave_recording(self) -> bool:
        """Record no more where all that is seen and paid is the innermost environment's own; return whether it is."""
        if not self._may_repeat:
            self._own.leave_recording()
        return not self._may_repeat

    @property
    def raw_spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        """Observation and action space of the environment that records, innermost."""
        return self._own.observation_space, self._own.action_space

    def finish_observers(self, counted: Sequence[EpisodeRecord]) -> list[dict[str, object]]:
        """Let every observer end its work; return what they add to each record together."""
        more: list[dict[str, object]] = [{} for _ in counted]
        for observer in self._observers:
            for merged, one in zip(more, observer.finish(counted), strict=True):
                merged.update(one)
        return more

    def _end(self, obs: Any, terminated: bool, truncated: bool, cut: bool, info: Mapping[str, Any]) -> PlayedEpisode:
        index = self._index
        self._index += self._plan.n_envs
        self._steps_so_far += self._length
        self._parked = not self._plan.plays(self._index, self._steps_so_far)
        self._last_obs = obs
        return PlayedEpisode(
            index=index,
            env_return=self._own.total,
            length=self._length,
            terminated=terminated,
            truncated=truncated,
            cut=cut,
            is_success=success_in(info),
            raw=self._own.take(),
            next_index=None if self._parked else self._index,
        )


def wrappers_of(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """Yield ``env`` and everything inside it, from the outermost wrapper to the bare environment."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def success_in(info: Mapping[str, Any]) -> bool | None:
    """Return what the last step's ``info`` says about success, None when it says nothing."""
    return bool(info["is_success"]) if "is_success" in info else None
