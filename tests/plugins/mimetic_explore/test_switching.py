"""Switching to random actions and back: independent for each environment, from each episode's own stream."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import ConfigError
from mimetic.evaluate import evaluate
from mimetic.hookspecs import WrapperContext
from mimetic.plugins import registry
from mimetic.policies import Actor
from mimetic.rollout import generate_trajectories, make_min_episodes
from mimetic_explore import ExplorationWrapper, SwitchingActor
from worlds import Cont, DictObs, Len

ACTIONS = spaces.Discrete(1000)
OWN = 7
"""What the policies here do when they are let; a random action is it once in a thousand times."""


class Constant(Actor):
    """Always the same; remembers how it was called."""

    recurrent = True

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.last_infos = {"confidence": np.zeros(0)}

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        self.last_infos = {"confidence": np.ones(len(episode_start))}
        count = np.where(episode_start, 0, 0 if state is None else state)
        return np.full(len(episode_start), OWN), count + 1

    def begin_episode(self, env_index: int, seed: int) -> None:
        self.begun.append((env_index, seed))


def explorer(n_envs: int, random_prob: float, switch_prob: float, seed: int = 0, **options: Any) -> SwitchingActor:
    return SwitchingActor(
        Constant(), ACTIONS, random_prob=random_prob, switch_prob=switch_prob, n_envs=n_envs, seed=seed, **options
    )


def explored(actor: Actor, n_envs: int, n_steps: int, starts: tuple[int, ...] = (0,)) -> np.ndarray:
    """Step through; return which actions were random (n_steps, n_envs)."""
    rows, state = [], None
    for step in range(n_steps):
        _, state = actor(np.zeros((n_envs, 1), np.float32), state, np.full(n_envs, step in starts))
        rows.append(actor.last_infos["explored"])
    return np.array(rows)


def within(count: float, n: int, p: float) -> bool:
    """Whether a binomial count is within four standard deviations of its mean."""
    return bool(abs(count - n * p) <= 4 * np.sqrt(n * p * (1 - p)))


# --- when it explores ---------------------------------------------------------------------------------------------


def test_environments_explore_independently() -> None:
    """Four coins fall alike once in eight throws."""
    marks = explored(explorer(4, 0.5, 1.0), 4, 2000)

    mixed = sum(0 < row.sum() < 4 for row in marks)
    assert within(mixed, 2000, 7 / 8)


def test_a_switch_after_every_step_is_epsilon_greedy() -> None:
    marks = explored(explorer(3, 0.2, 1.0), 3, 4000)

    assert within(marks.sum(), 12000, 0.2)
    assert within((marks[1:] & marks[:-1]).sum(), 3 * 3999, 0.04)


def test_a_stretch_lasts_until_a_switch_falls_on_the_other_side() -> None:
    """A change at a step: a new choice (1/10) that differs (1/2)."""
    marks = explored(explorer(2, 0.5, 0.1), 2, 5000)

    changes = (marks[1:] != marks[:-1]).sum()
    assert within(changes, 2 * 4999, 0.05)


@pytest.mark.parametrize(("random_prob", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_certain_choices_are_certain(random_prob: float, share: float) -> None:
    assert explored(explorer(3, random_prob, 0.5), 3, 200).mean() == share


def test_the_choice_is_made_anew_at_the_start_of_each_episode() -> None:
    """Without switches, an episode is random as a whole or not at all, and every episode throws its own coin."""
    starts = tuple(range(0, 4000, 4))

    episodes = explored(explorer(1, 0.3, 0.0), 1, 4000, starts)[:, 0].reshape(-1, 4)

    assert all(episode.all() or not episode.any() for episode in episodes)
    assert within(episodes[:, 0].sum(), 1000, 0.3)


def test_the_references_shared_switch_is_one_choice_for_all_that_no_episode_interrupts() -> None:
    starts = tuple(range(0, 2000, 5))

    marks = explored(explorer(4, 0.5, 0.0, shared_switch=True), 4, 2000, starts)
    assert np.unique(marks).size == 1

    marks = explored(explorer(4, 0.5, 1.0, shared_switch=True), 4, 2000)
    assert all(np.unique(row).size == 1 for row in marks)
    assert within(marks[:, 0].sum(), 2000, 0.5)


def test_random_actions_are_uniform_and_the_others_the_policys_own() -> None:
    actor = explorer(8, 0.5, 1.0)
    drawn = []
    for _ in range(1000):
        acts, _ = actor(np.zeros((8, 1)), None, np.zeros(8, bool))
        random = actor.last_infos["explored"]
        assert (acts[~random] == OWN).all()
        drawn.extend(acts[random])

    assert abs(np.mean(drawn) - 499.5) < 4 * 1000 / np.sqrt(12 * len(drawn))


def test_what_the_policy_says_about_its_actions_is_kept() -> None:
    actor = explorer(3, 0.5, 1.0)

    explored(actor, 3, 1)

    assert set(actor.last_infos) == {"confidence", "explored"}


# --- streams ------------------------------------------------------------------------------------------------------


def play_seeded(n_envs: int, n_episodes: int = 6) -> list[list[tuple[int, bool]]]:
    """Play episodes of ten steps, each begun by its seed; return what each did."""
    actor = explorer(n_envs, 0.5, 0.3)
    episodes: list[list[tuple[int, bool]]] = []
    for first in range(0, n_episodes, n_envs):
        for env_index in range(n_envs):
            actor.begin_episode(env_index, 100 + first + env_index)
        steps = []
        for step in range(10):
            acts, _ = actor(np.zeros((n_envs, 1)), None, np.full(n_envs, step == 0))
            steps.append(list(zip(acts.tolist(), actor.last_infos["explored"].tolist(), strict=True)))
        episodes.extend([list(one) for one in zip(*steps, strict=True)])
    return episodes


@pytest.mark.parametrize("n_envs", [2, 3, 6])
def test_what_an_episode_explores_depends_on_its_seed_alone(n_envs: int) -> None:
    assert play_seeded(n_envs) == play_seeded(1)


def test_an_episode_is_begun_for_the_policy_inside_too() -> None:
    inside = Constant()
    actor = SwitchingActor(inside, ACTIONS, random_prob=0.5, switch_prob=0.5, n_envs=2)

    actor.begin_episode(1, 42)

    assert inside.begun == [(1, 42)]


def test_an_evaluation_that_explores_does_not_depend_on_the_number_of_environments() -> None:
    def episodes(n_envs: int) -> list[tuple[float, int]]:
        settings = EvaluationConfig.model_validate(
            {
                "n_episodes": 6,
                "n_envs": n_envs,
                "explore": {"name": "switching", "random_prob": 0.5, "switch_prob": 0.2},
            }
        )
        zero: Any = lambda obs, state, start: (np.zeros(len(start), np.int64), state)  # noqa: E731 - a policy
        result = evaluate(zero, EnvConfig(id="CartPole-v1"), settings, seed=1)
        return [(each.episode_return, each.length) for each in result.episodes]

    assert episodes(3) == episodes(1)


def test_the_action_space_of_the_caller_is_not_drawn_from() -> None:
    space = spaces.Discrete(1000, seed=5)
    twin = spaces.Discrete(1000, seed=5)
    actor = SwitchingActor(Constant(), space, random_prob=1.0, switch_prob=1.0, n_envs=2)

    explored(actor, 2, 10)

    assert space.sample() == twin.sample()


# --- ExplorationWrapper -------------------------------------------------------------------------------------------


def constant(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
    return np.zeros(len(episode_start), np.int64), state


@pytest.fixture
def venvs() -> Iterator[list[VecEnv]]:
    opened: list[VecEnv] = []
    yield opened
    for venv in opened:
        venv.close()


def vectorised(venvs: list[VecEnv], make: Any, n_envs: int) -> VecEnv:
    venvs.append(DummyVecEnv([make] * n_envs))
    return venvs[-1]


def test_the_wrapper_takes_the_references_arguments_and_rolls_out(venvs: list[VecEnv]) -> None:
    venv = vectorised(venvs, lambda: Len(5), 3)
    policy = ExplorationWrapper(constant, venv, 0.5, 1.0, np.random.default_rng(0))

    trajectories = generate_trajectories(policy, venv, make_min_episodes(20), np.random.default_rng(0))

    acts = np.concatenate([trajectory.acts for trajectory in trajectories])
    assert within((acts == 1).sum(), len(acts), 0.25)


def test_equal_generators_explore_equally(venvs: list[VecEnv]) -> None:
    def acts(seed: int) -> list[int]:
        venv = vectorised(venvs, lambda: Len(50), 2)
        policy = ExplorationWrapper(constant, venv, 0.5, 0.5, np.random.default_rng(seed))
        trajectories = generate_trajectories(policy, venv, make_min_episodes(2), np.random.default_rng(0))
        return [int(act) for trajectory in trajectories for act in trajectory.acts]

    assert acts(0) == acts(0)
    assert acts(0) != acts(1)


@pytest.mark.parametrize("n_keys", [1, 2, 3])
@pytest.mark.parametrize("n_envs", [1, 2, 5])
def test_dict_observations_get_an_action_for_each_environment(venvs: list[VecEnv], n_keys: int, n_envs: int) -> None:
    venv = vectorised(venvs, lambda: DictObs(n_keys), n_envs)
    policy = ExplorationWrapper(None, venv, 0.5, 1.0, np.random.default_rng(0))

    trajectories = generate_trajectories(policy, venv, make_min_episodes(n_envs), np.random.default_rng(0))

    assert all(trajectory.acts.shape == (5,) for trajectory in trajectories)


def test_a_recurrent_policy_remembers_random_steps_too(venvs: list[VecEnv]) -> None:
    venv = vectorised(venvs, lambda: Len(5), 2)
    seen = []

    def counts(obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        """Acts by how often it was called in this episode."""
        count = np.where(episode_start, 0, 0 if state is None else state)
        seen.append(count.tolist())
        return np.zeros(len(episode_start), np.int64), count + 1

    policy = ExplorationWrapper(counts, venv, 1.0, 1.0, np.random.default_rng(0))
    generate_trajectories(policy, venv, make_min_episodes(4), np.random.default_rng(0))

    assert seen[:10] == [[step, step] for step in [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]


def test_actions_of_any_shape_are_replaced_row_by_row(venvs: list[VecEnv]) -> None:
    space = spaces.Box(-1, 1, (2, 3), np.float32)

    class Still(Constant):
        def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
            return np.zeros((len(episode_start), 2, 3), np.float32), state

    actor = SwitchingActor(Still(), space, random_prob=0.5, switch_prob=1.0, n_envs=16)
    acts, _ = actor(np.zeros((16, 1)), None, np.ones(16, bool))

    assert acts.shape == (16, 2, 3)
    assert acts.dtype == np.float32
    assert ((acts != 0).all(axis=(1, 2)) == actor.last_infos["explored"]).all()


def test_a_call_without_episode_starts_is_a_call_in_the_middle_of_episodes(venvs: list[VecEnv]) -> None:
    venv = vectorised(venvs, lambda: Len(5), 2)

    acts, _ = ExplorationWrapper(None, venv, 0.5, 1.0, np.random.default_rng(0))(np.zeros((2, 1)), None, None)

    assert acts.shape == (2,)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [5, -1, 1.0001, float("nan")])
@pytest.mark.parametrize("name", ["random_prob", "switch_prob"])
def test_a_probability_outside_0_and_1_is_refused_by_name(venvs: list[VecEnv], name: str, value: float) -> None:
    venv = vectorised(venvs, lambda: Len(5), 1)
    options: dict[str, Any] = {"random_prob": 0.5, "switch_prob": 0.5, name: value}

    with pytest.raises(ValueError, match=f"{name} is {value}; a probability lies between 0 and 1"):
        ExplorationWrapper(None, venv, rng=np.random.default_rng(0), **options)


def test_a_missing_option_is_named_when_the_settings_are_read() -> None:
    with pytest.raises(ConfigError, match="switch_prob"):
        registry().make_config("wrapper", "switching", {"random_prob": 0.1})


@pytest.mark.parametrize("options", [{"random_prob": 5, "switch_prob": 1}, {"random_prob": 0.1, "switch_prob": -1}])
def test_impossible_probabilities_are_refused_when_the_settings_are_read(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="_prob"):
        registry().make_config("wrapper", "switching", options)


# --- components ---------------------------------------------------------------------------------------------------


def build(name: str, options: dict[str, Any], env: gym.Env[Any, Any], inside: Actor, n_envs: int = 2) -> Actor:
    context = WrapperContext(
        wrapped=inside,
        env_index=0,
        seed=0,
        observation_space=env.observation_space,
        action_space=env.action_space,
        n_envs=n_envs,
    )
    built: Actor = registry().build("wrapper", name, options, context)
    return built


def test_every_option_of_switching_reaches_it() -> None:
    options = {"random_prob": 0.25, "switch_prob": 0.75, "shared_switch": True}

    actor = build("switching", options, Len(), Constant())

    assert isinstance(actor, SwitchingActor)
    assert (actor.random_prob, actor.switch_prob, actor.shared_switch) == (0.25, 0.75, True)


def test_epsilon_greedy_explores_each_step_for_itself() -> None:
    actor = build("epsilon-greedy", {"epsilon": 0.3}, Cont(), Constant())

    assert within(explored_in(actor).sum(), 2 * 3000, 0.3)
    assert actor.recurrent  # as what is inside


def explored_in(actor: Actor) -> np.ndarray:
    return explored(actor, 2, 3000)
