"""An environment that knows its episodes plays them from their own seeds, reports each once, and then stands still."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from evaluation_parts import Repeated, Tape
from mimetic.envs import PLAYED, EpisodePlan, EpisodeRecord, OwnReward, PlannedEpisodes, PlayedEpisode
from mimetic.hookspecs import WrapperContext
from mimetic.seeding import derive_seed
from worlds import Len, Noisy


def test_an_episodes_seed_depends_on_its_number_and_the_root_seed_alone() -> None:
    alone, among_eight = plan_for(n_envs=1, seed=7), plan_for(n_envs=8, seed=7)

    assert [alone.seed_of(k) for k in range(20)] == [among_eight.seed_of(k) for k in range(20)]
    assert len({alone.seed_of(k) for k in range(20)}) == 20
    assert alone.seed_of(3) == derive_seed(7, "episode", 3)


def test_environment_e_plays_e_and_every_nth_after_it() -> None:
    """Ten episodes on four environments: 3, 3, 2 and 2."""
    played = [[each.index for each in play(planned(Len(2), i, plan_for(4, n_episodes=10)))] for i in range(4)]

    assert played == [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]


def test_each_reset_takes_the_episodes_own_seed_whatever_the_caller_says() -> None:
    plan = plan_for(1, n_episodes=2)
    env = planned(Noisy(), 0, plan)

    env.reset(seed=99)
    first = env.unwrapped.np_random_seed
    run_to_the_end(env)
    env.reset()

    assert (first, env.unwrapped.np_random_seed) == (plan.seed_of(0), plan.seed_of(1))


def test_a_reset_straight_after_a_reset_replays_the_episode() -> None:
    """Some wrappers reset when they are made."""
    env = planned(Noisy(), 0, plan_for(1, n_episodes=2))

    first, second = env.reset()[0], env.reset()[0]

    assert first == second
    assert run_to_the_end(env).index == 0


def test_a_reset_within_an_episode_begins_it_again() -> None:
    env = planned(Len(3), 0, plan_for(1, n_episodes=1))
    env.reset()
    env.step(0)
    env.reset()

    played = run_to_the_end(env)

    assert (played.index, played.length, played.env_return) == (0, 3, 3.0)


def test_a_parked_environment_stands_still_and_never_ends() -> None:
    env = planned(Len(2), 0, plan_for(1, n_episodes=1))
    env.reset()
    run_to_the_end(env)

    assert env.reset()[0] == 2
    for _ in range(5):
        assert env.step(0)[1:] == (0.0, False, False, {})


def test_an_environment_without_an_episode_of_its_own_is_parked_from_the_start() -> None:
    env = planned(Len(2), 3, plan_for(4, n_episodes=2))
    obs, _ = env.reset()

    assert env.observation_space.contains(obs)
    assert env.step(0)[1:] == (0.0, False, False, {})


def test_an_environment_that_has_surely_made_enough_steps_stops() -> None:
    """Its own episodes 0 and 2 hold 20 steps, so the episodes 0, 1 and 2 do, whatever 1 is."""
    plan = plan_for(2, n_episodes=None, n_timesteps=20)

    assert [each.index for each in play(planned(Len(10), 0, plan))] == [0, 2]


def test_with_episodes_and_steps_asked_both_must_be_sure() -> None:
    plan = plan_for(2, n_episodes=5, n_timesteps=20)

    assert [each.index for each in play(planned(Len(10), 0, plan))] == [0, 2, 4]
    assert [each.index for each in play(planned(Len(2), 0, plan_for(2, n_episodes=1, n_timesteps=9)))] == [
        0,
        2,
        4,
        6,
        8,
    ]


def test_the_record_tells_the_end_of_the_task_from_the_clock() -> None:
    """When both come at once the task ended, as stable-baselines3 has it."""
    ended = play(planned(Len(5), 0))[0]
    clocked = play(planned(gym.wrappers.TimeLimit(Len(100), 5), 0))[0]
    both = play(planned(gym.wrappers.TimeLimit(Len(5), 5), 0))[0]

    assert [(each.terminated, each.truncated) for each in (ended, clocked, both)] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_an_episode_that_never_ends_is_cut_at_the_ceiling() -> None:
    played = play(planned(Len(None), 0, plan_for(1, n_episodes=1, max_steps=7)))[0]

    assert (played.length, played.terminated, played.truncated, played.cut) == (7, False, True, True)


def test_an_episode_that_ends_at_the_ceiling_is_not_cut() -> None:
    played = play(planned(Len(7), 0, plan_for(1, n_episodes=1, max_steps=7)))[0]

    assert (played.terminated, played.truncated, played.cut) == (True, False, False)


def test_sums_are_float64() -> None:
    """In float32 ten thousand tenths are 999.9029."""
    played = play(planned(Len(10_000, r=0.1), 0))[0]

    assert played.env_return == pytest.approx(1000.0, abs=1e-9)


def test_observers_learn_of_each_episode_before_its_reset_and_end_with_the_counted_ones() -> None:
    tape = Tape(Len(1), context_for(Len(1)))
    env = planned(tape, 0, plan := plan_for(1, n_episodes=2))
    play(env)

    more = env.finish_observers([record(index=1, length=1)])

    assert tape.events == [
        ("begin", 0, plan.seed_of(0)),
        "step",
        ("begin", 1, plan.seed_of(1)),
        "step",
        ("finish", [1]),
    ]
    assert more == [{"video": "videos/1.mp4", "frames": [0, 2]}]


def test_what_an_observer_adds_stands_in_the_record() -> None:
    merged = record(index=3, length=9).with_more({"video": "videos/a.mp4"}).as_dict()

    assert merged["video"] == "videos/a.mp4"
    assert list(merged)[:4] == ["seed", "env_index", "return", "env_return"]


def test_the_recorded_episode_is_the_innermost_one_under_a_wrapper_that_repeats_steps() -> None:
    """One inner step within the reset, then two a step: each row knows which outer step it belongs to."""
    env = PlannedEpisodes(Repeated(OwnReward(Len(5), record=True)), plan_for(1, n_episodes=1), 0)

    raw = play(env)[0].raw

    assert raw is not None
    (trajectory,) = raw.trajectories
    assert isinstance(trajectory.obs, np.ndarray)
    assert trajectory.obs[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert raw.steps_before is not None
    assert raw.steps_before.tolist() == [1, 3, 5]


def test_a_reset_of_the_inner_environment_within_an_episode_gives_two_trajectories_and_one_sum() -> None:
    class Glued(gym.Wrapper[Any, Any, Any, Any]):
        """Two inner episodes make one."""

        lives = 0

        def reset(self, **kwargs: Any) -> Any:
            self.lives = 2
            return self.env.reset(**kwargs)

        def step(self, action: Any) -> Any:
            obs, reward, terminated, truncated, info = self.env.step(action)
            if terminated:
                self.lives -= 1
                obs, _ = (obs, info) if self.lives == 0 else self.env.reset()
            return obs, reward, self.lives == 0, truncated, info

    played = play(PlannedEpisodes(Glued(OwnReward(Len(3), record=True)), plan_for(1, n_episodes=1), 0))[0]

    assert (played.length, played.env_return) == (6, 6.0)
    assert played.raw is not None
    assert [(len(each), each.terminal) for each in played.raw.trajectories] == [(3, True), (3, True)]


def plan_for(
    n_envs: int = 1,
    *,
    n_episodes: int | None = 1,
    n_timesteps: int | None = None,
    seed: int = 0,
    max_steps: int = 1_000_000,
) -> EpisodePlan:
    return EpisodePlan(seed, n_envs, n_episodes, n_timesteps, max_steps)


def planned(env: gym.Env[Any, Any], index: int, plan: EpisodePlan | None = None) -> PlannedEpisodes:
    return PlannedEpisodes(OwnReward(env) if not isinstance(env, Tape) else _inside(env), plan or plan_for(), index)


def _inside(tape: Tape) -> Tape:
    tape.env = OwnReward(tape.env)
    return tape


def play(env: PlannedEpisodes) -> list[PlayedEpisode]:
    """Play until the environment is parked, and return what it reported."""
    reports: list[PlayedEpisode] = []
    while not reports or reports[-1].next_index is not None:
        env.reset()
        reports.append(run_to_the_end(env))
    return reports


def run_to_the_end(env: PlannedEpisodes) -> PlayedEpisode:
    while True:
        _, _, terminated, truncated, info = env.step(0)
        if terminated or truncated:
            played: PlayedEpisode = info[PLAYED]
            return played


def context_for(env: gym.Env[Any, Any]) -> WrapperContext:
    return WrapperContext(
        wrapped=env,
        env_index=0,
        seed=0,
        observation_space=env.observation_space,
        action_space=env.action_space,
        n_envs=1,
    )


def record(*, index: int, length: int) -> EpisodeRecord:
    return EpisodeRecord(
        index=index,
        seed=0,
        env_index=0,
        episode_return=1.0,
        env_return=1.0,
        length=length,
        terminated=True,
        truncated=False,
    )
