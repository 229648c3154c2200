"""An evaluation counts exactly the episodes that it should, whatever plays them, and changes nothing around itself."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from evaluation_parts import Shown, Tape, env_id, parts
from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.envs import EpisodePlan
from mimetic.errors import (
    ComponentFailedError,
    ConfigError,
    EnvError,
    SpaceError,
    TargetExistsError,
)
from mimetic.evaluate import EvaluationResult, evaluate, evaluate_venv
from mimetic.evaluate.native import QuickMultiDiscrete
from mimetic.plugins import using
from mimetic.policies import Actor
from mimetic.rollout import RolloutInfoWrapper
from mimetic.storage import load_demonstrations
from mimetic.types import TrajectoryDataset
from worlds import Len

LEN = "worlds:mimetic-tests/Len-v0"


@pytest.fixture(autouse=True)
def _parts() -> Iterator[None]:
    Tape.tapes.clear()
    Shown.windows.clear()
    with using(parts()):
        yield


# --- which episodes count ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [2, 3, 8])
@pytest.mark.parametrize("deterministic", [True, False])
def test_the_number_of_environments_changes_no_byte_of_the_result(n_envs: int, deterministic: bool) -> None:
    one, several = (
        evaluation(small_policy(Len()), EnvConfig(id=env_id("Paid")), n_envs=n, deterministic=deterministic)
        for n in (1, n_envs)
    )

    assert without_env_index(one) == without_env_index(several)


def test_processes_change_no_byte_of_the_result() -> None:
    here, there = (
        evaluation(small_policy(Len()), EnvConfig(id=env_id("Paid")), n_envs=2, processes=processes)
        for processes in (False, True)
    )

    assert json.dumps(here.as_dict()) == json.dumps(there.as_dict())


def test_physics_whose_bits_depend_on_the_batch_are_exact_too() -> None:
    """Pendulum's returns move by 1e-5 when two environments share a forward pass."""
    env = EnvConfig(id="Pendulum-v1", max_episode_steps=40)
    policy = small_policy(gym.make("Pendulum-v1"))

    one, five = (evaluation(policy, env, n_envs=n, n_episodes=6) for n in (1, 5))

    assert without_env_index(one) == without_env_index(five)


def test_a_saved_seed_replays_its_episode_alone() -> None:
    result = evaluation(small_policy(Len()), EnvConfig(id=env_id("Paid")), n_envs=3)
    env = gym.make("mimetic-tests/Paid-v0")
    last = result.episodes[-1]

    env.reset(seed=last.seed)
    rewards = []
    for _ in range(last.length):
        rewards.append(env.step(0)[1])

    assert sum(float(reward) for reward in rewards) == pytest.approx(last.env_return, abs=1e-12)


def test_exactly_as_many_episodes_count_as_asked() -> None:
    """R-1: four environments, ten episodes: 3, 3, 2 and 2."""
    result = evaluation(None, EnvConfig(id=LEN), n_envs=4, n_episodes=10)

    indices = [record.env_index for record in result.episodes]
    assert [indices.count(i) for i in range(4)] == [3, 3, 2, 2]
    assert [record.index for record in result.episodes] == list(range(10))


@pytest.mark.parametrize("n", [4, 10])
def test_short_episodes_have_no_advantage_in_a_callers_environments(n: int) -> None:
    """R-1: Len(2) and Len(100) side by side: the mean is 51, for four episodes and for ten."""
    venv = DummyVecEnv([lambda: Len(2), lambda: Len(100)])

    result = evaluate_venv(None, venv, EvaluationConfig(n_episodes=n), seed=0)

    assert (result.statistics["n_traj"], result.statistics["return_mean"]) == (n, 51.0)


def test_more_environments_than_episodes_play_no_more_than_asked() -> None:
    assert evaluation(None, EnvConfig(id=LEN), n_envs=4, n_episodes=1).statistics["n_traj"] == 1


@pytest.mark.parametrize("n_envs", [1, 2, 3, 8])
def test_with_timesteps_the_shortest_row_of_episodes_that_has_enough_counts(n_envs: int) -> None:
    """Episodes of 5 steps: 13 steps need three of them."""
    result = evaluation(None, EnvConfig(id=LEN), n_envs=n_envs, n_episodes=None, n_timesteps=13)

    assert [record.index for record in result.episodes] == [0, 1, 2]


def test_with_timesteps_and_episodes_both_are_reached() -> None:
    by_steps = evaluation(None, EnvConfig(id=LEN), n_episodes=2, n_timesteps=13)
    by_episodes = evaluation(None, EnvConfig(id=LEN), n_episodes=6, n_timesteps=13)

    assert (by_steps.statistics["n_traj"], by_episodes.statistics["n_traj"]) == (3, 6)


def test_an_evaluation_without_an_end_is_refused() -> None:
    settings = EvaluationConfig().model_copy(update={"n_episodes": None})

    with pytest.raises(ValueError, match="give n_episodes, n_timesteps or both"):
        evaluate(None, EnvConfig(id=LEN), settings, seed=0)


def test_an_episode_that_never_ends_is_cut_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"2 of 2 episodes made 30 steps without an end \(the first is episode 0\)"):
        result = evaluation(None, EnvConfig(id=LEN, kwargs={"n": None}), n_envs=2, n_episodes=2, max_steps=30)

    assert [(each.length, each.terminated, each.truncated) for each in result.episodes] == [(30, False, True)] * 2


def test_a_callers_environment_that_never_ends_counts_once_and_is_an_error_when_it_is_needed_again() -> None:
    once, twice = (EvaluationConfig(n_episodes=n, max_steps=30) for n in (1, 2))

    with pytest.warns(UserWarning, match="1 of 1 episodes made 30 steps"):
        assert evaluate_venv(None, DummyVecEnv([lambda: Len(None)]), once, seed=0).statistics["n_traj"] == 1
    with pytest.raises(EnvError, match=r"environment 0 made 30 steps without an end.*episode 1 can never begin"):
        evaluate_venv(None, DummyVecEnv([lambda: Len(None)]), twice, seed=0)


def test_lengths_may_differ_without_a_flag() -> None:
    """R-7."""
    assert evaluation(None, EnvConfig(id="worlds:mimetic-tests/Noisy-v0")).statistics["len_std"] != 0


# --- what is reported -------------------------------------------------------------------------------------------


def test_the_return_of_the_wrapped_environment_and_its_own_are_told_apart() -> None:
    """E-2: ten steps under a wrapper that leaves a tenth of the reward."""
    env = EnvConfig.model_validate({"id": LEN, "kwargs": {"n": 10}, "wrappers": ["scale"]})

    result = evaluation(None, env, n_episodes=1)

    assert result.statistics["return_mean"] == pytest.approx(1.0)
    assert result.statistics["env_return_mean"] == 10.0
    assert result.episodes[0].episode_return == pytest.approx(1.0)
    assert result.episodes[0].env_return == 10.0


def test_wrappers_of_the_evaluation_go_outside_of_the_environments_own() -> None:
    env = EnvConfig.model_validate({"id": LEN, "wrappers": [{"name": "scale", "factor": 2}]})

    result = evaluation(None, env, n_episodes=1, wrappers=[{"name": "scale", "factor": 10}])

    assert (result.statistics["return_mean"], result.statistics["env_return_mean"]) == (100.0, 5.0)


def test_a_replaced_reward_pays_and_the_environments_own_is_reported_beside_it() -> None:
    """The reward pays the number of the step, 1 + 2 + 3, and 100 for the end of the task."""
    results = [evaluation(None, EnvConfig(id=LEN, kwargs={"n": 3}), n_envs=n, reward="step") for n in (1, 3)]

    for result in results:
        assert (result.statistics["return_mean"], result.statistics["env_return_mean"]) == (106.0, 3.0)
        assert result.statistics["monitor_return_mean"] == 3.0


def test_a_reward_that_gives_no_number_a_step_is_refused() -> None:
    with pytest.raises(ComponentFailedError, match=r"shape \(1, 2\)"):
        evaluation(None, EnvConfig(id=LEN), reward="wide")


def test_an_episode_says_what_is_known_of_it() -> None:
    (episode,) = evaluation(None, EnvConfig(id=LEN), n_episodes=1, seed=5).as_dict()["episodes"]

    assert episode == {
        "seed": EpisodePlan(5, 1, 1, None).seed_of(0),
        "env_index": 0,
        "return": 5.0,
        "env_return": 5.0,
        "length": 5,
        "terminated": True,
        "truncated": False,
    }


def test_success_is_the_rate_among_the_episodes_that_say_so() -> None:
    result = evaluation(None, EnvConfig(id=env_id("Paid")), n_episodes=40)

    each = [episode["is_success"] for episode in result.as_dict()["episodes"]]
    assert set(each) == {True, False}
    assert result.statistics["is_success"] == each.count(True) / 40


def test_numbers_that_are_not_finite_become_null() -> None:
    venv = DummyVecEnv([lambda: Len(2, r=float("inf"))])

    document = evaluate_venv(None, venv, EvaluationConfig(n_episodes=2), seed=0).as_dict()

    assert (document["return_mean"], document["return_ci_low"], document["episodes"][0]["return"]) == (None, None, None)
    json.dumps(document, allow_nan=False)


def test_a_time_limit_is_truncation_and_no_end() -> None:
    result = evaluation(None, EnvConfig(id=LEN, kwargs={"n": 100}, max_episode_steps=5), n_episodes=1)

    assert (result.episodes[0].terminated, result.episodes[0].truncated) == (False, True)


# --- what is saved ----------------------------------------------------------------------------------------------


def test_saved_episodes_hold_raw_observations_and_the_environments_own_reward(tmp_path: Path) -> None:
    """R-4: whatever wrappers show and pay."""
    env = EnvConfig.model_validate({"id": LEN, "kwargs": {"n": 3, "r": 2.0}, "wrappers": ["scale"]})

    result = evaluation(None, env, n_episodes=2, n_envs=2, reward="step", save_rollouts=tmp_path / "a.safetensors")
    saved = load_demonstrations(tmp_path / "a.safetensors")

    assert (len(saved), saved.lengths.tolist()) == (2, [3, 3])
    assert np.asarray(saved[1].obs)[:, 0].tolist() == [0, 1, 2, 3]
    assert saved.rews is not None
    assert saved.rews.tolist() == [2.0] * 6
    assert saved.terminals.all()
    assert saved.observation_space == Len().observation_space
    assert result.trajectories == saved


def test_only_counted_episodes_are_saved_and_in_their_order(tmp_path: Path) -> None:
    saved = [
        saved_by(
            evaluation(
                None,
                EnvConfig(id="worlds:mimetic-tests/Noisy-v0"),
                n_envs=n,
                n_episodes=3,
                n_timesteps=30,
                save_rollouts=tmp_path / f"{n}.safetensors",
            )
        )
        for n in (1, 4)
    ]

    assert saved[0] == saved[1]


def test_a_path_without_the_suffix_becomes_a_folder_of_files(tmp_path: Path) -> None:
    evaluation(None, EnvConfig(id=LEN), n_episodes=2, save_rollouts=tmp_path / "rollouts")

    assert len(load_demonstrations(tmp_path / "rollouts")) == 2


def test_what_was_explored_is_marked_in_what_is_saved(tmp_path: Path) -> None:
    """The policy takes 1, the explorer 0 in every second step."""
    result = evaluation(
        "ones", EnvConfig(id=LEN), n_episodes=2, n_envs=2, explore="switching", save_rollouts=tmp_path / "a.safetensors"
    )
    saved = saved_by(result)

    assert saved.acts.tolist() == [1, 0, 1, 0, 1] * 2
    assert saved.infos is not None
    assert saved.infos["explored"].tolist() == [False, True, False, True, False] * 2


def test_marks_fall_on_the_inner_steps_of_a_wrapper_that_repeats(tmp_path: Path) -> None:
    """One inner step within the reset, then two for each outer one, of which every second is explored."""
    env = EnvConfig.model_validate({"id": LEN, "wrappers": ["repeat"]})

    saved = saved_by(
        evaluation("ones", env, n_episodes=1, explore="switching", save_rollouts=tmp_path / "a.safetensors")
    )

    assert saved.infos is not None
    assert saved.infos["explored"].tolist() == [False, False, False, True, True]


def test_nested_observations_are_saved_as_they_nest(tmp_path: Path) -> None:
    saved = saved_by(
        evaluation(None, EnvConfig(id=env_id("Nested")), n_episodes=1, save_rollouts=tmp_path / "a.safetensors")
    )

    assert isinstance(saved.obs, dict)
    assert isinstance(saved.obs["arm"], dict)
    assert np.asarray(saved.obs["arm"]["a.b"]).tolist() == [0, 1, 2, 3]
    assert np.asarray(saved.obs["eye"]).dtype == np.uint8


def test_rollouts_are_not_written_over_a_file(tmp_path: Path) -> None:
    target = tmp_path / "a.safetensors"
    target.write_text("precious")

    with pytest.raises(TargetExistsError, match="exists already"):
        evaluation(None, EnvConfig(id=LEN), save_rollouts=target)

    assert target.read_text() == "precious"


def test_a_callers_environments_are_saved_raw_when_they_keep_raw_episodes(tmp_path: Path) -> None:
    def build() -> gym.Env[Any, Any]:
        return gym.wrappers.TransformReward(RolloutInfoWrapper(Len(3)), lambda reward: 10 * float(reward))

    settings = EvaluationConfig.model_validate({"n_episodes": 3, "save_rollouts": tmp_path / "a.safetensors"})
    result = evaluate_venv(None, DummyVecEnv([build, build]), settings, seed=0)

    assert (result.statistics["return_mean"], result.statistics["env_return_mean"]) == (30.0, 3.0)
    assert saved_by(result).rews.tolist() == [1.0] * 9  # type: ignore[union-attr]  # they have rewards


def test_a_callers_environments_that_keep_none_are_refused(tmp_path: Path) -> None:
    settings = EvaluationConfig.model_validate({"save_rollouts": tmp_path / "a.safetensors"})

    with pytest.raises(ConfigError, match="RolloutInfoWrapper"):
        evaluate_venv(None, DummyVecEnv([Len]), settings, seed=0)


# --- observers and windows --------------------------------------------------------------------------------------


def test_observers_are_told_which_episodes_count_and_what_they_say_is_in_the_records(tmp_path: Path) -> None:
    result = evaluation(None, EnvConfig(id=LEN), n_episodes=3, n_envs=2, videos="one", out=tmp_path)

    assert [tape.events[-2:] for tape in Tape.tapes] == [[("finish", [0, 2]), "close"], [("finish", [1]), "close"]]
    assert [tape.context.env_index for tape in Tape.tapes] == [0, 1]
    assert all(tape.context.run_dir == tmp_path and tape.render_mode == "rgb_array" for tape in Tape.tapes)
    assert [each["frames"] for each in result.as_dict()["episodes"]] == [[0, 6]] * 3


def test_an_observer_sees_no_step_beyond_the_episodes_that_its_environment_plays() -> None:
    """The reference filmed steps that are in no statistic."""
    evaluation(None, EnvConfig(id=LEN, kwargs={"n": 4}), n_episodes=3, n_envs=2, videos="one", out=Path())

    assert [tape.events.count("step") for tape in Tape.tapes] == [8, 4]


def test_videos_need_a_folder() -> None:
    with pytest.raises(ConfigError, match="videos need a folder"):
        evaluation(None, EnvConfig(id=LEN), videos="one")


def test_the_window_is_around_everything_and_shows_the_reset_and_each_step() -> None:
    """RD-1: 1 + steps renders, with the rate that was asked for."""
    evaluation(None, EnvConfig(id=LEN), n_episodes=2, render=True, render_fps=12.5)

    (window,) = Shown.windows
    assert (window.n_renders, window.fps, window.closed) == (11, 12.5, True)


def test_an_environment_that_cannot_be_rendered_is_refused_before_the_first_step() -> None:
    with pytest.raises(EnvError, match=r"render_modes: \['ansi'\]"):
        evaluation(None, EnvConfig(id=env_id("Blind")), render=True)


def test_a_callers_window_is_closed_and_the_environments_stay_open() -> None:
    env = Len(3, render_mode="rgb_array")
    closed: list[bool] = []
    env.close = lambda: closed.append(True)  # type: ignore[method-assign]  # a spy
    venv = DummyVecEnv([lambda: env])

    evaluate_venv(None, venv, EvaluationConfig(n_episodes=1, render=True), seed=0)

    assert (Shown.windows[0].closed, closed) == (True, [])
    venv.reset()


def test_a_callers_environments_without_a_picture_are_refused() -> None:
    with pytest.raises(EnvError, match="render_mode=None and cannot be shown"):
        evaluate_venv(None, DummyVecEnv([Len]), EvaluationConfig(render=True), seed=0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"videos": "one"}, "are built already"), ({"wrappers": ["scale"]}, "wrappers: scale go around single")],
)
def test_what_goes_inside_single_environments_is_refused_around_a_callers(asked: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate_venv(None, DummyVecEnv([Len]), EvaluationConfig.model_validate(asked), seed=0)


# --- policies ---------------------------------------------------------------------------------------------------


def test_each_episode_is_announced_with_its_seed_before_its_first_action() -> None:
    events: list[Any] = []

    class Listening(Actor):
        def begin_episode(self, env_index: int, seed: int) -> None:
            events.append((env_index, seed))

        def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
            events.append("act")
            return np.zeros(len(obs), int), state

    evaluation(Listening(), EnvConfig(id=LEN, kwargs={"n": 1}), n_envs=2, n_episodes=3, seed=9)
    seed_of = EpisodePlan(9, 2, 3, None).seed_of

    assert events == [(0, seed_of(0)), (1, seed_of(1)), "act", (0, seed_of(2)), "act"]


def test_recurrent_state_is_kept_for_each_environment_and_starts_are_marked() -> None:
    """Len(2) and Len(3) side by side; the state counts the steps since the start."""
    counts: list[list[int]] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        state = np.zeros(len(obs), int) if state is None else state
        state = np.where(episode_start, 0, state) + 1
        counts.append(state.tolist())
        return np.zeros(len(obs), int), state

    evaluate_venv(policy, DummyVecEnv([lambda: Len(2), lambda: Len(3)]), EvaluationConfig(n_episodes=4), seed=0)

    assert counts == [[1, 1], [2, 2], [1, 3], [2, 1], [1, 2], [2, 3]]


def test_a_policy_is_named_by_a_spec() -> None:
    assert evaluation("ones", EnvConfig(id=LEN), n_episodes=1).statistics["n_traj"] == 1


def test_a_policy_for_other_spaces_is_refused() -> None:
    with pytest.raises(SpaceError):
        evaluation(small_policy(gym.make("Pendulum-v1")), EnvConfig(id=LEN))


def test_an_explorer_that_is_no_actor_is_named() -> None:
    with pytest.raises(ComponentFailedError, match=r"'no-actor' of level 'policy' gave a function, no mimetic.Actor"):
        evaluation(None, EnvConfig(id=LEN), explore="no-actor")


def test_a_foreign_stochastic_policy_is_reported_without_seeds() -> None:
    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        return np.random.randint(2, size=len(obs)), state

    free = evaluation(policy, EnvConfig(id=LEN), n_episodes=2, deterministic=False)

    assert [record.seed for record in free.episodes] == [None, None]


def test_a_foreign_stochastic_policy_repeats_itself_under_one_seed() -> None:
    seen: list[list[int]] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        acts = np.random.randint(2, size=len(obs))
        seen[-1].append(int(acts[0]))
        return acts, state

    for _ in range(2):
        seen.append([])
        evaluation(policy, EnvConfig(id=LEN, kwargs={"n": 30}), n_episodes=1, deterministic=False)

    assert seen[0] == seen[1]


# --- nothing else changes ---------------------------------------------------------------------------------------


def test_training_mode_and_global_streams_are_as_before() -> None:
    policy = small_policy(Len())
    policy.train()
    policy.features_extractor.eval()
    torch.manual_seed(1)
    np.random.seed(1)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state(legacy=False)

    evaluation(policy, EnvConfig(id=env_id("Paid")), deterministic=False)

    assert (policy.training, policy.features_extractor.training) == (True, False)
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_equal(np.random.get_state(legacy=False), numpy_state)


def test_normalisation_statistics_learn_nothing_from_an_evaluation() -> None:
    """E-1: the count stays, and the wrapper is set to learn again afterwards."""
    venv = VecNormalize(DummyVecEnv([lambda: Len(10)]))
    seen: Any = venv.obs_rms
    before = (seen.count, venv.ret_rms.count)

    evaluate_venv(None, venv, EvaluationConfig(n_episodes=2), seed=0)

    assert (seen.count, venv.ret_rms.count) == before
    assert venv.obs_rms is seen
    assert venv.training


def test_an_algorithm_under_normalisation_is_evaluated_on_raw_returns() -> None:
    """Its statistics go along; returns are the environment's own numbers."""
    venv = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]))
    model = PPO("MlpPolicy", venv, n_steps=8, batch_size=8, device="cpu")

    result = evaluation(model, EnvConfig(id="CartPole-v1"), n_episodes=2)

    assert result.statistics["return_mean"] == result.statistics["len_mean"]


def test_everything_is_closed_when_the_policy_raises(tmp_path: Path) -> None:
    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        if obs[0, 0] == 3:
            raise RuntimeError("no idea")
        return np.zeros(len(obs), int), state

    with pytest.raises(RuntimeError, match="no idea"):
        evaluation(policy, EnvConfig(id=LEN), videos="one", render=True, out=tmp_path)

    assert [tape.events[-1] for tape in Tape.tapes] == ["close"]
    assert Shown.windows[0].closed


# --- Ctrl-C -----------------------------------------------------------------------------------------------------


def test_an_interruption_reports_what_is_complete(tmp_path: Path) -> None:
    """Ctrl-C in the third episode: two are complete, reported, marked, filmed and saved."""
    result = evaluation(
        interrupting(at_step=12),
        EnvConfig(id=LEN),
        n_episodes=10,
        videos="one",
        out=tmp_path,
        save_rollouts=tmp_path / "a.safetensors",
    )

    assert result.interrupted
    assert result.as_dict()["interrupted"] is True
    assert result.statistics["n_traj"] == 2
    assert Tape.tapes[0].events[-2:] == [("finish", [0, 1]), "close"]
    assert len(saved_by(result)) == 2


def test_an_interruption_before_anything_is_complete_reports_nothing() -> None:
    result = evaluation(interrupting(at_step=2), EnvConfig(id=LEN), n_episodes=10)

    assert result.as_dict() == {"n_traj": 0, "interrupted": True, "episodes": []}


def test_a_complete_evaluation_is_not_marked() -> None:
    assert "interrupted" not in evaluation(None, EnvConfig(id=LEN)).as_dict()


def test_ctrl_c_ends_the_evaluation_between_two_steps() -> None:
    """The signal comes while the environment is stepped, and the step is finished."""
    steps: list[int] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        steps.append(int(obs[0, 0]))
        if len(steps) == 7:
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(len(obs), int), state

    result = evaluation(policy, EnvConfig(id=LEN), n_episodes=10)

    assert (result.interrupted, result.statistics["n_traj"], len(steps)) == (True, 1, 7)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_ends_it_at_once() -> None:
    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second one ends it")

    with pytest.raises(KeyboardInterrupt):
        evaluation(policy, EnvConfig(id=LEN))


def test_ctrl_c_reports_what_processes_have_completed(tmp_path: Path) -> None:
    """The processes belong to the same terminal, and are not ended by it."""
    calls: list[int] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        calls.append(1)
        if len(calls) == 7:
            for process in Processes.of_this_test():
                os.kill(process, signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(len(obs), int), state

    result = evaluation(
        policy, EnvConfig(id=LEN), n_envs=2, n_episodes=10, processes=True, save_rollouts=tmp_path / "a.safetensors"
    )

    assert (result.interrupted, result.statistics["n_traj"]) == (True, 2)
    assert len(saved_by(result)) == 2


def test_outside_of_the_main_thread_ctrl_c_is_left_to_others() -> None:
    results: list[EvaluationResult] = []
    thread = threading.Thread(target=lambda: results.append(evaluation(None, EnvConfig(id=LEN), n_episodes=1)))

    thread.start()
    thread.join()

    assert results[0].statistics["n_traj"] == 1


# --- gymnasium's own vectorised environments --------------------------------------------------------------------


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize("end", [{"n_episodes": 17}, {"n_episodes": None, "n_timesteps": 150}])
def test_native_environments_count_the_episodes_that_begin_first(end: Any, n_envs: int, processes: bool) -> None:
    """Whichever environment is free plays the next one, and none is left out because it is long."""
    result = evaluation(
        lambda obs, state, start: (np.ones(len(obs), int), state),
        EnvConfig(id="CartPole-v1"),
        n_envs=n_envs,
        vectorization="native",
        processes=processes,
        **end,
    )

    assert [record.index for record in result.episodes] == list(range(len(result.episodes)))
    begins, free = [], [0] * n_envs
    for record in result.episodes:
        begins.append((free[record.env_index], record.env_index))
        free[record.env_index] += record.length + 1  # a step is spent on the reset
    assert begins == sorted(begins)
    lengths = [record.length for record in result.episodes]
    assert all(8 <= length <= 12 for length in lengths)  # always pushed to one side
    assert len(lengths) == 17 if end["n_episodes"] else sum(lengths) >= 150 > sum(lengths[:-1])
    assert all(record.seed is None and record.terminated for record in result.episodes)
    assert result.statistics["env_return_mean"] == result.statistics["return_mean"] == result.statistics["len_mean"]


@pytest.mark.parametrize("processes", [False, True])
def test_native_environments_that_gymnasium_vectorises_itself_have_their_lengths(processes: bool) -> None:
    """Len(3) has no vectorised form of its own. The step after an end is only a reset, and counts for nothing."""
    result = evaluation(
        None, EnvConfig(id=LEN, kwargs={"n": 3}), n_envs=2, n_episodes=5, vectorization="native", processes=processes
    )

    assert [(record.episode_return, record.length) for record in result.episodes] == [(3.0, 3)] * 5


def test_native_environments_do_without_one_that_never_ends() -> None:
    """Two have seeds one after the other, so one of them is cut once, and the other plays on."""
    with pytest.warns(UserWarning, match="1 of 6 episodes made 10 steps without an end"):
        result = evaluation(
            None,
            EnvConfig(id="worlds:mimetic-tests/Stuck-v0"),
            n_envs=2,
            n_episodes=6,
            max_steps=10,
            vectorization="native",
        )

    cut = result.episodes[0].env_index if result.episodes[0].truncated else 1
    assert sorted(record.length for record in result.episodes[:2]) == [3, 10]
    assert [(record.env_index, record.length) for record in result.episodes[2:]] == [(1 - cut, 3)] * 4


def test_native_environments_that_never_end_are_an_error_when_they_are_needed_again() -> None:
    with pytest.raises(EnvError, match=r"environment 0 made 10 steps without an end.*episode 2 can never begin"):
        evaluation(
            None, EnvConfig(id=LEN, kwargs={"n": None}), n_envs=2, n_episodes=3, max_steps=10, vectorization="native"
        )


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_native_environments_tell_of_success(mode: AutoresetMode) -> None:
    """Wherever the last info of an episode is: SAME_STEP puts it aside."""
    env = EnvConfig(id=env_id("Paid")).model_copy(update={"kwargs": {"vector_kwargs": {"autoreset_mode": mode}}})

    result = evaluation(None, env, n_envs=2, n_episodes=40, vectorization="native")

    successes = {record.is_success for record in result.episodes}
    assert successes == {True, False}
    assert 0 < float(result.statistics["is_success"] or 0) < 1


def test_native_environments_obey_the_time_limit() -> None:
    result = evaluation(
        None, EnvConfig(id="CartPole-v1", max_episode_steps=4), n_envs=2, n_episodes=3, vectorization="native"
    )

    assert [(record.length, record.truncated) for record in result.episodes] == [(4, True)] * 3


@pytest.mark.parametrize("space", [MultiDiscrete([3, 3]), MultiDiscrete([2, 5], start=[-1, 250], dtype=np.int16)])
def test_the_quick_space_of_native_environments_says_what_gymnasium_s_says(space: MultiDiscrete) -> None:
    quick = QuickMultiDiscrete(space)
    edges = range(-2, 260, 1)
    asked: list[Any] = [np.array([a, b], space.dtype) for a in (-2, -1, 0, 1, 2, 3) for b in edges]
    asked += [[0, 1], (0, 251), np.zeros(2), np.zeros(2, np.int8), np.zeros(3, space.dtype), np.zeros((1, 2), int), 1]
    asked += asked  # some are remembered

    assert quick == space
    assert [quick.contains(each) for each in asked] == [space.contains(each) for each in asked]
    assert {quick.contains(each) for each in asked} == {True, False}


def test_native_environments_refuse_what_is_no_action() -> None:
    class Wild(Actor):
        def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
            return np.full(len(obs), 2), state

    with pytest.raises(AssertionError, match="invalid"):
        evaluation(Wild(), EnvConfig(id="CartPole-v1"), n_envs=2, vectorization="native")


@pytest.mark.parametrize("asked", [{"videos": "one"}, {"render": True}, {"reward": "step"}, {"wrappers": ["scale"]}])
def test_nothing_goes_around_native_environments(asked: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"vectorization: native environments .* so there is no "):
        evaluation(None, EnvConfig(id="CartPole-v1"), vectorization="native", out=tmp_path, **asked)


# --- helpers ----------------------------------------------------------------------------------------------------


class Processes:
    """The processes of environments that run now."""

    @staticmethod
    def of_this_test() -> list[int]:
        import multiprocessing

        return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def evaluation(
    policy: Any,
    env: EnvConfig,
    *,
    seed: int = 0,
    out: Path | None = None,
    n_episodes: int | None = 5,
    **settings: Any,
) -> EvaluationResult:
    config = EvaluationConfig.model_validate({"n_episodes": n_episodes, **settings})
    return evaluate(policy, env, config, seed=seed, out=out)


def small_policy(env: gym.Env[Any, Any]) -> ActorCriticPolicy:
    torch.manual_seed(0)
    return ActorCriticPolicy(env.observation_space, env.action_space, lambda _: 0.0, net_arch=[8, 8])


def interrupting(*, at_step: int) -> Any:
    calls: list[int] = []

    def policy(obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        calls.append(1)
        if len(calls) == at_step:
            raise KeyboardInterrupt
        return np.zeros(len(obs), int), state

    return policy


def without_env_index(result: EvaluationResult) -> str:
    document = result.as_dict()
    for episode in document["episodes"]:
        del episode["env_index"]
    return json.dumps(document)


def saved_by(result: EvaluationResult) -> TrajectoryDataset:
    assert result.trajectories is not None
    return result.trajectories
