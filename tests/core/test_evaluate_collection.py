"""Collecting: exactly the episodes that were asked for, raw, on the disk, and nothing of them left in memory."""

import os
import signal
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from evaluation_parts import env_id, parts
from mimetic.config import Choice, EnvConfig
from mimetic.envs import EpisodePlan
from mimetic.errors import ConfigError, EnvError, TargetExistsError
from mimetic.evaluate import collect
from mimetic.hookspecs import PolicyContext
from mimetic.plugins import registry, using
from mimetic.policies import Actor, build_policy
from mimetic.rollout.history import History
from mimetic.storage import DatasetWriter, load_demonstrations
from worlds import Len

LEN = "worlds:mimetic-tests/Len-v0"
CONT = "worlds:mimetic-tests/Cont-v0"
NOISY = "worlds:mimetic-tests/Noisy-v0"
DICT = "worlds:mimetic-tests/DictObs-v0"


def bytes_of(path: Path) -> dict[str, bytes]:
    """Return every file at a path."""
    files = [path] if path.is_file() else sorted(path.iterdir())
    return {file.name: file.read_bytes() for file in files}


# --- how much, and the same again -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rolled.safetensors", "rolled"])
def test_the_bytes_depend_on_the_seed_and_not_on_the_number_of_environments(tmp_path: Path, name: str) -> None:
    """Episode k begins from its own seed, wherever it is played, and takes its own place."""
    found = []
    for number, (n_envs, processes) in enumerate([(1, False), (2, name == "rolled"), (3, False), (8, False)]):
        path = tmp_path / str(number) / name
        done = collect("random", NOISY, path, n_episodes=7, seed=5, n_envs=n_envs, processes=processes)
        assert (len(done.load()), done.complete, done.interrupted) == (7, True, False)
        found.append(bytes_of(path))
    collect("random", NOISY, tmp_path / "other" / name, n_episodes=7, seed=6)

    assert all(each == found[0] for each in found)
    assert bytes_of(tmp_path / "other" / name) != found[0]


@pytest.mark.parametrize("env", [NOISY, DICT, "CartPole-v1", env_id("Nested"), "FrozenLake-v1"])
@pytest.mark.parametrize("explore", [None, {"name": "epsilon-greedy", "epsilon": 0.3}])
def test_the_bytes_do_not_depend_on_who_records(tmp_path: Path, env: str, explore: Any) -> None:
    """Each environment for itself, in a process or within a wrapper that changes nothing, or all of them together."""
    wrappers: list[Any] = [{"name": "gymnasium", "class": "evaluation_parts:Scaled", "kwargs": {"factor": 1.0}}]
    ways: list[dict[str, Any]] = [{}, {"n_envs": 3}, {"wrappers": wrappers}, {"processes": True}]
    config = EnvConfig(id=env, max_episode_steps=15)

    found = set()
    for number, way in enumerate(ways):
        path = tmp_path / f"{number}.safetensors"
        collect("random", config, path, n_episodes=20, seed=5, explore=explore, **way)
        found.add(path.read_bytes())

    assert len(found) == 1


class Reusing(Len):
    """``Len`` that shows one and the same array, and writes over it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._seen = np.zeros(1, np.float32)

    def _obs(self) -> np.ndarray:
        self._seen[:] = self.t
        return self._seen


gym.register("mimetic-tests/Reusing-v0", entry_point=Reusing, disable_env_checker=True)


@pytest.mark.parametrize("way", [{}, {"n_envs": 2}, {"n_envs": 2, "vectorization": "native"}])
def test_an_environment_may_write_over_what_it_showed(tmp_path: Path, way: dict[str, Any]) -> None:
    done = collect("random", "mimetic-tests/Reusing-v0", tmp_path / "a.safetensors", n_episodes=5, seed=0, **way)

    assert [np.asarray(each.obs).ravel().tolist() for each in done.load()] == [[0, 1, 2, 3, 4, 5]] * 5


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_policy_of_the_box_gives_the_same_bytes_for_any_number_of_environments(
    tmp_path: Path, deterministic: bool
) -> None:
    env = gym.make("Pendulum-v1")
    context = PolicyContext(
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=torch.device("cpu"),
        seed=0,
        base_dir=tmp_path,
    )
    policy = build_policy("mlp", context)

    found = set()
    for n_envs in (1, 2, 5):
        path = tmp_path / f"{n_envs}.safetensors"
        config = EnvConfig(id="Pendulum-v1", max_episode_steps=20)
        collect(policy, config, path, n_episodes=5, seed=1, n_envs=n_envs, deterministic=deterministic)
        found.add(path.read_bytes())

    assert len(found) == 1


@pytest.mark.parametrize("n_envs", [1, 3])
def test_timesteps_are_reached_with_the_fewest_whole_episodes(tmp_path: Path, n_envs: int) -> None:
    """Len(5): 11 steps need three episodes."""
    done = collect("random", LEN, tmp_path / "a", n_timesteps=11, seed=0, n_envs=n_envs)

    assert (done.n_transitions, done.lengths.tolist(), done.complete) == (15, [5, 5, 5], True)


def test_episodes_and_timesteps_together_ask_for_both(tmp_path: Path) -> None:
    done = collect("random", LEN, tmp_path / "a", n_timesteps=3, n_episodes=2, seed=0)

    assert done.n_transitions == 10


def test_what_was_collected_is_told(tmp_path: Path) -> None:
    env = EnvConfig(id=LEN, kwargs={"n": 3, "r": 2.0})

    done = collect(None, env, tmp_path / "a.safetensors", n_episodes=4, seed=0)

    assert done.path == tmp_path / "a.safetensors"
    assert (done.returns.tolist(), done.lengths.tolist()) == ([6.0] * 4, [3] * 4)
    assert (done.n_trajectories, done.n_transitions, done.n_terminated) == (4, 12, 4)
    assert done.load() == load_demonstrations(tmp_path / "a.safetensors")


def test_without_an_end_nothing_is_begun(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a collection needs an end: give n_episodes, n_timesteps or both"):
        collect("random", LEN, tmp_path / "a", seed=0)


def test_every_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        collect("random", LEN, tmp_path / "a", n_episodes=0, n_envs=-1, seed=0, explore="no-such")

    assert {fault.path.split(".")[0] for fault in error.value.faults} == {"n_episodes", "n_envs", "explore"}


# --- what is in the data ----------------------------------------------------------------------------------------


def test_observations_and_rewards_are_the_environments_own(tmp_path: Path) -> None:
    """R-4: the policy sees normalised observations and half the reward; the file holds what the environment gave."""
    seen: list[float] = []

    def look(obs: np.ndarray, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        seen.append(float(obs[0, 0]))
        return np.zeros(len(obs), int), state

    normalised = {"name": "gymnasium", "class": "NormalizeObservation"}
    scaled = {"name": "gymnasium", "class": "evaluation_parts:Scaled", "kwargs": {"factor": 0.5}}

    done = collect(
        look,
        EnvConfig(id=LEN, kwargs={"n": 3, "r": 2.0}),
        tmp_path / "a.safetensors",
        n_episodes=1,
        seed=0,
        wrappers=[normalised, scaled],
    )

    data = done.load()
    assert data.obs.ravel().tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]  # an array here
    assert data.rews is not None
    assert data.rews.tolist() == [2.0, 2.0, 2.0]
    assert done.returns.tolist() == [6.0]
    assert seen != [0.0, 1.0, 2.0]
    assert data.observation_space == Len().observation_space


def test_the_action_is_the_one_that_the_environment_received(tmp_path: Path) -> None:
    """BC-9: what leaves the action space is clipped, and recorded so."""
    done = collect(
        lambda obs, state, start: (np.full((len(obs), 1), 7.5), state), CONT, tmp_path / "a", n_episodes=1, seed=0
    )

    assert done.load().acts.tolist() == [[1.0]] * 5
    assert done.load().acts.dtype == np.float32


@pytest.mark.filterwarnings("ignore:.*precision lowered by casting")  # by gymnasium's own wrapper
def test_a_wrapper_that_changes_actions_is_seen_through(tmp_path: Path) -> None:
    """The policy says -1 .. 1; the environment gets 0 .. 10."""
    rescale = {"name": "gymnasium", "class": "RescaleAction", "kwargs": {"min_action": -1.0, "max_action": 1.0}}
    env = EnvConfig.model_validate({"id": CONT, "kwargs": {"low": 0.0, "high": 10.0, "n": 2}, "wrappers": [rescale]})

    done = collect("zero", env, tmp_path / "a", n_episodes=1, seed=0)

    assert done.load().acts.tolist() == [[5.0]] * 2
    assert done.load().action_space == spaces.Box(0.0, 10.0, (1,), np.float32)


@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize("vectorization", ["sb3", "native"])
def test_explored_actions_are_marked(tmp_path: Path, n_envs: int, vectorization: Any) -> None:
    """The policy says 1, every second step is explored and 0: so the mark can be checked against the action."""
    ones = Choice("policy", "ones", registry().make_config("policy", "zero", {}))
    with using(parts()):
        done = collect(
            ones,
            LEN,
            tmp_path / "a",
            n_episodes=4,
            seed=0,
            n_envs=n_envs,
            explore="switching",
            vectorization=vectorization,
        )

    data = done.load()
    assert data.acts.tolist() == [1, 0, 1, 0, 1] * 4
    assert data.infos is not None
    assert data.infos["explored"].tolist() == [False, True, False, True, False] * 4


def test_without_exploration_nothing_is_marked(tmp_path: Path) -> None:
    assert not collect("random", LEN, tmp_path / "a", n_episodes=2, seed=0).load().infos


@pytest.mark.parametrize(
    ("limit", "n", "flags"), [(5, 100, (False, True)), (None, 5, (True, False)), (5, 5, (True, False))]
)
@pytest.mark.parametrize("vectorization", ["sb3", "native"])
def test_the_end_of_the_task_and_the_clock_are_told_apart(
    tmp_path: Path, limit: int | None, n: int, flags: tuple[bool, bool], vectorization: Any
) -> None:
    """R-2. Both at once count as the end of the task."""
    env = EnvConfig(id=LEN, kwargs={"n": n}, max_episode_steps=limit)

    done = collect("random", env, tmp_path / "a", n_episodes=2, seed=0, vectorization=vectorization)

    assert [(each.terminal, each.truncated, len(each)) for each in done.load()] == [(*flags, 5)] * 2
    assert done.n_terminated == 2 * flags[0]


@pytest.mark.parametrize("amount", [{"n_episodes": 2}, {"n_timesteps": 20}])
def test_an_episode_that_never_ends_is_cut_and_marked_with_a_warning(tmp_path: Path, amount: dict[str, Any]) -> None:
    """R-3."""
    env = EnvConfig(id=LEN, kwargs={"n": None})

    with pytest.warns(UserWarning, match="2 of 2 episodes made 10 steps without an end"):
        done = collect("random", env, tmp_path / "a", seed=0, max_steps=10, **amount)

    assert [(each.terminal, each.truncated, len(each)) for each in done.load()] == [(False, True, 10)] * 2
    assert done.complete


# --- where it lies ----------------------------------------------------------------------------------------------


def test_a_path_that_ends_in_safetensors_is_one_file_and_any_other_a_folder(tmp_path: Path) -> None:
    collect("random", LEN, tmp_path / "new" / "a.safetensors", n_episodes=2, seed=0)
    collect("random", LEN, str(tmp_path / "b.data"), n_episodes=2, seed=0)

    assert (tmp_path / "new" / "a.safetensors").is_file()
    assert sorted(file.name for file in (tmp_path / "b.data").iterdir()) == ["00001.safetensors", "index.json"]
    assert load_demonstrations(tmp_path / "b.data") == load_demonstrations(tmp_path / "new" / "a.safetensors")


def test_an_existing_target_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file.safetensors").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty.safetensors").mkdir()
    (tmp_path / "empty").mkdir()

    for name in ("file.safetensors", "folder", "dangling", "empty.safetensors"):
        with pytest.raises(TargetExistsError, match=f"{name} exists already, and nothing is written over"):
            collect(_never, LEN, tmp_path / name, n_episodes=1, seed=0)
    assert collect("random", LEN, tmp_path / "empty", n_episodes=1, seed=0).complete

    assert (tmp_path / "file.safetensors").read_text() == "precious"


def test_a_place_that_cannot_be_written_to_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=r"cannot be made: .*file is no folder"):
        collect(_never, LEN, tmp_path / "file" / "a", n_episodes=1, seed=0)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)

    with pytest.raises(ConfigError, match=r"locked may not be written to"):
        collect(_never, LEN, tmp_path / "locked" / "a", n_episodes=1, seed=0)


def _never(obs: Any, state: Any, episode_start: Any) -> Any:
    raise AssertionError("this is too early to play")


# --- memory -----------------------------------------------------------------------------------------------------


class Heavy(Len):
    """``Len`` with an observation of 40 kB."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.observation_space = spaces.Box(0, 255, (200, 200), np.uint8)

    def _obs(self) -> np.ndarray:
        return np.full((200, 200), self.t, np.uint8)


gym.register("mimetic-tests/Heavy-v0", entry_point=Heavy, disable_env_checker=True)


@pytest.mark.parametrize("vectorization", ["sb3", "native"])
def test_a_long_collection_needs_no_more_memory_than_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectorization: Any
) -> None:
    """200 episodes are 48 MB of observations, written by 1 MB: what is held does not grow with them."""
    defaults = DatasetWriter.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "shard_bytes", 2**20)

    def peak(n_episodes: int) -> int:
        tracemalloc.start()
        path = tmp_path / str(n_episodes)
        done = collect(
            "random",
            "mimetic-tests/Heavy-v0",
            path,
            n_episodes=n_episodes,
            seed=0,
            n_envs=2,
            vectorization=vectorization,
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done.n_trajectories == n_episodes
        assert sum(file.stat().st_size for file in path.iterdir()) > n_episodes * 200_000
        return most

    peak(2)  # imports and caches
    short, long = peak(40), peak(200)

    assert long < short + 2_000_000


def test_one_file_that_grows_large_in_memory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mimetic.evaluate.collection.MUCH_IN_MEMORY", 100)

    with pytest.warns(UserWarning, match=r"a\.safetensors is one file.*a path without \.safetensors becomes a folder"):
        collect("random", LEN, tmp_path / "a.safetensors", n_episodes=9, seed=0)

    assert len(load_demonstrations(tmp_path / "a.safetensors")) == 9


# --- an early end -----------------------------------------------------------------------------------------------


class Counting(Actor):
    """Calls ``then`` at its n-th action."""

    def __init__(self, n: int, then: Any) -> None:
        self._left, self._then = n, then

    def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
        self._left -= 1
        if self._left == 0:
            self._then()
        return np.zeros(len(episode_start), np.int64), state


@pytest.mark.parametrize("name", ["a.safetensors", "a"])
@pytest.mark.parametrize("n_envs", [1, 2])
def test_ctrl_c_keeps_the_episodes_that_are_complete(tmp_path: Path, name: str, n_envs: int) -> None:
    """At action 13 of Len(5) every environment has played two episodes and begun a third."""
    policy = Counting(13, lambda: os.kill(os.getpid(), signal.SIGINT))

    done = collect(policy, LEN, tmp_path / name, n_episodes=1000, seed=0, n_envs=n_envs)

    assert (done.interrupted, done.complete) == (True, False)
    assert done.load().lengths.tolist() == [5] * 2 * n_envs


def test_a_closed_window_ends_it_and_is_no_ctrl_c(tmp_path: Path) -> None:
    def close() -> None:
        raise KeyboardInterrupt("as a window does")

    done = collect(Counting(13, close), LEN, tmp_path / "a", n_episodes=1000, seed=0)

    assert (done.interrupted, done.complete, len(done.load())) == (False, False, 2)


@pytest.mark.parametrize("name", ["a.safetensors", "a"])
def test_when_no_episode_was_complete_nothing_is_left(tmp_path: Path, name: str) -> None:
    done = collect(Counting(3, lambda: os.kill(os.getpid(), signal.SIGINT)), LEN, tmp_path / name, n_episodes=9, seed=0)

    assert len(done.returns) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.safetensors", "a"])
def test_an_error_keeps_the_episodes_that_are_complete(tmp_path: Path, name: str) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        collect(Counting(13, fail), LEN, tmp_path / name, n_episodes=9, seed=0)

    assert len(load_demonstrations(tmp_path / name)) == 2


def test_an_environment_that_raises_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvError, match="the motor stalled"):
        collect("random", env_id("Failing"), tmp_path / "a", n_episodes=9, seed=0, processes=True)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.safetensors", "a"])
def test_what_cannot_be_had_again_is_on_the_disk_before_the_next_episode(tmp_path: Path, name: str) -> None:
    """Somebody who played for an hour loses nothing when the machine dies."""
    on_disk: list[int] = []

    class Person(Counting):
        live = True

        def __call__(self, obs: Any, state: Any, episode_start: np.ndarray) -> tuple[np.ndarray, Any]:
            if episode_start[0] and (tmp_path / name).exists() and any(tmp_path.rglob("*.safetensors")):
                on_disk.append(len(load_demonstrations(tmp_path / name)))
            return super().__call__(obs, state, episode_start)

    done = collect(Person(0, None), LEN, tmp_path / name, n_episodes=4, seed=0)

    assert on_disk == [1, 2, 3]
    assert len(done.load()) == 4

    native = collect(Person(0, None), LEN, tmp_path / "2" / name, n_episodes=4, seed=0, vectorization="native")
    assert native.load() == done.load()


# --- gymnasium's own vectorised environments --------------------------------------------------------------------


@pytest.mark.parametrize("env", [EnvConfig(id=LEN), EnvConfig(id=DICT), EnvConfig(id=env_id("Nested"))])
@pytest.mark.parametrize("processes", [False, True])
def test_native_environments_give_the_same_data_where_nothing_is_drawn(
    tmp_path: Path, env: EnvConfig, processes: bool
) -> None:
    plain = collect("zero", env, tmp_path / "a", n_episodes=5, seed=0, n_envs=2).load()

    native = collect(
        "zero", env, tmp_path / "b", n_episodes=5, seed=0, n_envs=2, vectorization="native", processes=processes
    ).load()

    assert (native.lengths.tolist(), native.terminals.tolist()) == (plain.lengths.tolist(), plain.terminals.tolist())
    assert (native.acts.dtype, native.acts.tolist()) == (plain.acts.dtype, plain.acts.tolist())
    assert native.observation_space == plain.observation_space
    assert env.id == DICT or native == plain  # DictObs draws its observations


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_every_way_of_resetting_gives_whole_episodes(tmp_path: Path, mode: AutoresetMode) -> None:
    """The first observation is the reset's, the last is the one before the next reset, and no reset is a step."""
    env = EnvConfig(id=LEN).model_copy(update={"kwargs": {"n": 3, "vector_kwargs": {"autoreset_mode": mode}}})

    data = collect("random", env, tmp_path / "a", n_episodes=7, seed=0, n_envs=3, vectorization="native").load()

    assert [each.obs.ravel().tolist() for each in data] == [[0, 1, 2, 3]] * 7  # type: ignore[union-attr]  # arrays
    assert [(each.terminal, each.truncated) for each in data] == [(True, False)] * 7


def test_the_history_of_native_environments_forgets_what_no_episode_holds() -> None:
    """1,000 episodes of 5 steps, one environment a step behind the other."""
    history, obs = History(np.zeros((2, 1)), 2), np.zeros((2, 1))
    for step in range(5000):
        history.add(np.array([step, step]), obs + step + 1, np.ones(2))
        over = [index for index, ends in enumerate((step % 5 == 4, step % 5 == 0)) if ends]
        for index in over:
            trajectory = history.finish(index, terminated=True)
            expected = range(max(0, step - 4), step + 1) if index == 0 or step else [0]
            assert trajectory.acts.tolist() == list(expected)
            assert np.asarray(trajectory.obs)[:, 0].tolist() == [*expected, step + 1]
        history.begin(over)
        history.forget()

    assert history._obs["obs"]._array.nbytes < 5_000


@pytest.mark.parametrize("name", ["a.safetensors", "a"])
@pytest.mark.parametrize(("n_steps", "n_kept"), [(13, 4), (4, 0)])
def test_what_is_complete_in_native_environments_is_kept(tmp_path: Path, name: str, n_steps: int, n_kept: int) -> None:
    """Len(5), and a step for each reset: after 12 steps each of two environments has played two episodes."""

    def fail() -> None:
        raise ZeroDivisionError

    stop = Counting(n_steps, lambda: os.kill(os.getpid(), signal.SIGINT))
    done = collect(stop, LEN, tmp_path / "1" / name, n_episodes=9, seed=0, n_envs=2, vectorization="native")
    with pytest.raises(ZeroDivisionError):
        collect(
            Counting(n_steps, fail), LEN, tmp_path / "2" / name, n_episodes=9, seed=0, n_envs=2, vectorization="native"
        )

    assert (done.interrupted, done.n_trajectories) == (True, n_kept)
    assert [path.exists() for path in (tmp_path / "1" / name, tmp_path / "2" / name)] == [n_kept > 0] * 2
    if n_kept:
        assert load_demonstrations(tmp_path / "2" / name) == done.load()
        assert [np.asarray(each.obs).ravel().tolist() for each in done.load()] == [[0, 1, 2, 3, 4, 5]] * n_kept


def test_many_native_episodes_are_those_of_few(tmp_path: Path) -> None:
    """Over many blocks of steps: a file and a folder hold the same, and begin as a shorter collection does."""
    found = []
    for path, n in (("a.safetensors", 400), ("b", 400), ("c.safetensors", 7)):
        collect("random", "CartPole-v1", tmp_path / path, n_episodes=n, seed=0, n_envs=5, vectorization="native")
        found.append(load_demonstrations(tmp_path / path))

    assert len(found[0]) == 400
    assert found[0] == found[1]
    assert found[0][:7] == found[2]
    assert all(len(each) == each.episode_return for each in found[0])


def test_a_native_environment_that_never_ends_holds_back_nothing(tmp_path: Path) -> None:
    env = EnvConfig(id=LEN, kwargs={"n": None})

    with pytest.warns(UserWarning, match="1 of 1 episodes made 10 steps"):
        done = collect("random", env, tmp_path / "a", n_episodes=1, seed=0, max_steps=10, vectorization="native")

    assert [(each.terminal, each.truncated, len(each)) for each in done.load()] == [(False, True, 10)]


# --- what a policy is told --------------------------------------------------------------------------------------


def test_a_policy_is_told_what_it_acts_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one that looks at more than observations, such as a simulator's own expert."""
    told: list[Any] = []

    def build(config: Any, context: PolicyContext) -> Any:
        assert context.venv is not None
        told.append(context.venv.get_attr("n"))
        return lambda obs, state, episode_start: (np.zeros(len(episode_start), int), state)

    monkeypatch.setattr("evaluation_parts.build_ones", build)
    with using(parts()):
        collect("ones", LEN, tmp_path / "a", n_episodes=2, seed=0, n_envs=2)

    assert told == [[5, 5]]


def test_the_seed_of_an_episode_is_the_one_of_an_evaluation(tmp_path: Path) -> None:
    """So what was collected can be looked at again, filmed."""
    seeds: Sequence[int] = [EpisodePlan(3, 1, 2, None).seed_of(k) for k in range(2)]
    first = [gym.make("CartPole-v1").reset(seed=seed)[0].tolist() for seed in seeds]

    data = collect("random", "CartPole-v1", tmp_path / "a", n_episodes=2, seed=3).load()

    assert [np.asarray(each.obs)[0].tolist() for each in data] == first
