"""The component ``video``: an evaluation's counted episodes are on film, and nothing else is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from films import decoded, grey_levels
from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import ConfigError, EnvError, MissingDependencyError, TargetExistsError
from mimetic.evaluate import EvaluationResult, evaluate
from mimetic.hookspecs import WrapperContext
from mimetic.plugins import registry
from mimetic_video import EncoderError, EpisodeFilm, VideoConfig, encoder as encoders

NOISY = "worlds:mimetic-tests/Noisy-v0"  # 1 to 19 steps, drawn from the episode's seed
LEN = "worlds:mimetic-tests/Len-v0"


def film(
    out: Path, env: str = NOISY, kwargs: dict[str, Any] | None = None, *, policy: Any = None, **settings: Any
) -> EvaluationResult:
    settings = {"n_episodes": 5, "videos": "one", **settings}
    return evaluate(policy, EnvConfig(id=env, kwargs=kwargs or {}), EvaluationConfig(**settings), seed=3, out=out)


def expected_levels(length: int, episode_of_env: int) -> list[int]:
    return [(10 * step + 3 * (episode_of_env % 3)) % 250 for step in range(length + 1)]


def assert_levels(seen: list[int], expected: list[int]) -> None:
    assert len(seen) == len(expected)
    assert np.abs(np.subtract(seen, expected)).max() <= 3, f"{seen} != {expected}"


# --- what is filmed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_envs", "processes"), [(1, False), (2, False), (3, False), (2, True)])
def test_each_counted_episode_has_a_film_of_n_plus_1_frames(tmp_path: Path, n_envs: int, processes: bool) -> None:
    result = film(tmp_path, n_envs=n_envs, videos="episodes", processes=processes)

    assert sorted(path.name for path in (tmp_path / "videos").iterdir()) == [
        *[f"episode-{index:06d}.mp4" for index in range(5)],
        "index.json",
    ]
    for record in result.episodes:
        assert record.more == {"video": f"videos/episode-{record.index:06d}.mp4", "frames": [0, record.length + 1]}
        levels = grey_levels(tmp_path / str(record.more["video"]))
        assert_levels(levels, expected_levels(record.length, record.index // n_envs))


@pytest.mark.parametrize(("n_envs", "processes"), [(1, False), (2, False), (3, False), (2, True)])
def test_one_film_for_each_environment_shows_its_counted_episodes_one_after_the_other(
    tmp_path: Path, n_envs: int, processes: bool
) -> None:
    result = film(tmp_path, n_envs=n_envs, videos="one", processes=processes)

    names = [f"env-{index:03d}.mp4" for index in range(n_envs)]
    assert sorted(path.name for path in (tmp_path / "videos").iterdir()) == [*names, "index.json"]
    films = {name: grey_levels(tmp_path / "videos" / name) for name in names}
    for record in result.episodes:
        frames: Any = record.more["frames"]
        levels = films[f"env-{record.env_index:03d}.mp4"][slice(*frames)]
        assert_levels(levels, expected_levels(record.length, record.index // n_envs))
    assert sum(len(levels) for levels in films.values()) == sum(each.length + 1 for each in result.episodes)


@pytest.mark.parametrize("mode", ["one", "episodes"])
def test_episodes_past_the_prefix_are_in_no_film(tmp_path: Path, mode: str) -> None:
    """With timesteps alone, how many episodes count is known only when they have been played."""
    result = film(tmp_path, n_envs=3, n_episodes=None, n_timesteps=25, videos=mode)

    frames = sum(len(grey_levels(path)) for path in (tmp_path / "videos").glob("*.mp4"))
    assert frames == sum(record.length + 1 for record in result.episodes)
    assert len(index_of(tmp_path)) == len(result.episodes)


@pytest.mark.parametrize("n_steps", [1, 3, 21])
@pytest.mark.parametrize("size", [(64, 96), (65, 97)])
@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_frame_k_shows_step_k_in_every_size_and_format(
    tmp_path: Path, n_steps: int, size: tuple[int, int], form: str
) -> None:
    videos = {"mode": "one", "format": form}
    film(tmp_path, LEN, {"n": n_steps, "size": size}, n_episodes=3, n_envs=2, videos=videos)

    frames = [decoded(tmp_path / "videos" / f"env-{index:03d}.{form}") for index in range(2)]
    assert all(each.shape[1:3] == size for each in frames)
    assert_levels(frames[0][:, 0, 0, 0].tolist(), expected_levels(n_steps, 0) + expected_levels(n_steps, 1))
    assert_levels(frames[1][:, 0, 0, 0].tolist(), expected_levels(n_steps, 0))


def test_more_environments_than_episodes_leave_no_empty_film(tmp_path: Path) -> None:
    film(tmp_path, n_episodes=2, n_envs=4)

    assert sorted(path.name for path in (tmp_path / "videos").iterdir()) == [
        "env-000.mp4",
        "env-001.mp4",
        "index.json",
    ]


def test_environments_that_play_nothing_count_in_the_index_all_the_same(tmp_path: Path) -> None:
    film(tmp_path, LEN, n_episodes=1, n_timesteps=1, n_envs=3)

    assert [entry["episode"] for entry in index_of(tmp_path)] == [0]
    assert sorted(path.name for path in (tmp_path / "videos").iterdir()) == ["env-000.mp4", "index.json"]


def test_an_episode_that_the_step_ceiling_cuts_is_filmed_up_to_there(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="without an end"):
        film(tmp_path, LEN, {"n": None}, n_episodes=2, max_steps=4)

    assert_levels(grey_levels(tmp_path / "videos" / "env-000.mp4"), expected_levels(4, 0) + expected_levels(4, 1))


@pytest.mark.parametrize("mode", ["one", "episodes"])
def test_the_index_says_where_each_episode_is(tmp_path: Path, mode: str) -> None:
    result = film(tmp_path, n_envs=2, videos=mode)

    entries = index_of(tmp_path)
    assert [entry["episode"] for entry in entries] == [0, 1, 2, 3, 4]
    for entry, record in zip(entries, result.episodes, strict=True):
        assert entry["seed"] == record.seed
        assert entry["return"] == record.episode_return
        assert entry["length"] == record.length
        assert entry["frames"] == record.more["frames"]
        assert entry["video"] == record.more["video"]
        assert (tmp_path / "videos" / str(entry["file"])).exists()


def test_filming_changes_no_result(tmp_path: Path) -> None:
    plain = film(tmp_path / "plain", n_envs=2, videos=None)
    filmed = film(tmp_path / "filmed", n_envs=2)

    assert [each.as_dict() for each in plain.episodes] == [
        {key: value for key, value in each.as_dict().items() if key not in ("video", "frames")}
        for each in filmed.episodes
    ]


def test_a_caption_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    size = {"n": 3, "size": (120, 240)}
    film(tmp_path / "without", LEN, size, n_episodes=1)
    film(tmp_path / "with", LEN, size, n_episodes=1, videos={"mode": "one", "caption": True})

    plain = decoded(tmp_path / "without" / "videos" / "env-000.mp4").astype(int)
    captioned = decoded(tmp_path / "with" / "videos" / "env-000.mp4").astype(int)
    assert captioned[:, :16].max() > 180
    assert plain[:, :16].max() < 60
    assert np.abs(captioned[:, 40:] - plain[:, 40:]).max() <= 3


# --- what ends early ----------------------------------------------------------------------------------------------


class Interrupts:
    """A policy that plays on until its n-th step, and then is Ctrl-C."""

    def __init__(self, n_steps: int, interruption: type[BaseException]) -> None:
        self.left, self.interruption = n_steps, interruption

    def __call__(self, obs: Any, state: Any, episode_start: Any) -> tuple[np.ndarray, Any]:
        if self.left == 0:
            raise self.interruption
        self.left -= 1
        return np.zeros(len(episode_start), np.int64), state


@pytest.mark.parametrize("mode", ["one", "episodes"])
def test_ctrl_c_keeps_the_films_of_the_complete_episodes(tmp_path: Path, mode: str) -> None:
    policy = Interrupts(2 * 10 + 4, KeyboardInterrupt)

    result = film(tmp_path, LEN, {"n": 10}, policy=policy, videos=mode)

    assert len(result.episodes) == 2
    assert len(index_of(tmp_path)) == 2
    frames = sum(len(grey_levels(path)) for path in (tmp_path / "videos").glob("*.mp4"))
    assert frames == 2 * 11


@pytest.mark.parametrize(("mode", "folder"), [("one", "videos/parts"), ("episodes", "videos")])
def test_a_policy_that_raises_leaves_complete_films_of_finished_episodes_and_a_readable_one_of_the_last(
    tmp_path: Path, mode: str, folder: str
) -> None:
    with pytest.raises(ZeroDivisionError):
        film(tmp_path, LEN, {"n": 10}, policy=Interrupts(2 * 10 + 4, ZeroDivisionError), videos=mode)

    films = sorted((tmp_path / folder).glob("*.mp4"))
    assert [len(grey_levels(path)) for path in films] == [11, 11, 5]


def test_an_episode_that_is_begun_again_is_filmed_again(tmp_path: Path) -> None:
    """A caller may reset in the middle of an episode; it is then played from its beginning."""
    from worlds import Len

    env = EpisodeFilm(Len(9, render_mode="rgb_array"), tmp_path, VideoConfig(mode="episodes"))
    for n_steps in (3, 2, 5):
        env.begin_episode(0, 1)
        env.reset(seed=1)
        for _ in range(n_steps):
            env.step(0)
    env.close()

    assert_levels(grey_levels(tmp_path / "videos" / "episode-000000.mp4"), expected_levels(5, 2))


def test_a_failing_encoder_ends_the_evaluation_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_gif_output", lambda: ["-c:v", "no-such-codec", "-f", "gif"])

    with pytest.raises(EncoderError, match=r"episode-\d{6}\.gif: ffmpeg ended with status \d+: .*no-such-codec"):
        film(tmp_path, videos={"mode": "one", "format": "gif"})


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["one", "episodes"])
def test_a_folder_with_earlier_videos_is_refused_before_the_first_step(tmp_path: Path, mode: str) -> None:
    film(tmp_path, videos=mode, n_episodes=1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "videos").iterdir()}

    with pytest.raises(TargetExistsError, match="exists already, and a video never overwrites anything"):
        film(tmp_path, videos=mode, n_episodes=1, policy=Interrupts(0, AssertionError))

    assert {path.name: path.read_bytes() for path in (tmp_path / "videos").iterdir()} == before


def test_films_without_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="folder"):
        build(None)


def build(run_dir: Path | None) -> Any:
    from worlds import Len

    env = Len(2, render_mode="rgb_array")
    context = WrapperContext(
        wrapped=env,
        env_index=0,
        seed=0,
        observation_space=env.observation_space,
        action_space=env.action_space,
        n_envs=1,
        run_dir=run_dir,
    )
    return registry().build("wrapper", "video", {"mode": "episodes"}, context)


def test_the_component_is_found_and_built_by_name(tmp_path: Path) -> None:
    assert isinstance(build(tmp_path), EpisodeFilm)


def test_a_missing_ffmpeg_is_refused_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "no-ffmpeg"))

    with pytest.raises(MissingDependencyError, match="pip install"):
        film(tmp_path, policy=Interrupts(0, AssertionError))


def test_an_environment_without_frames_is_refused_before_the_first_step(tmp_path: Path) -> None:
    import gymnasium as gym

    from worlds import Len

    class Unseen(Len):
        metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - gymnasium's form

    if "mimetic-tests/Unseen-v0" not in gym.registry:
        gym.register("mimetic-tests/Unseen-v0", entry_point=Unseen)  # type: ignore[arg-type]  # a class makes one, too
    with pytest.raises(EnvError, match=r"Unseen-v0.*ansi"):
        film(tmp_path, "mimetic-tests/Unseen-v0", policy=Interrupts(0, AssertionError))


# --- beside a window ----------------------------------------------------------------------------------------------


def test_a_window_beside_the_film_costs_no_second_rendering(tmp_path: Path) -> None:
    from worlds import Len

    class Counts(Len):
        n_renders = 0

        def render(self) -> Any:
            Counts.n_renders += 1
            return super().render()

    env = EpisodeFilm(Counts(3, render_mode="rgb_array"), tmp_path, VideoConfig())
    Counts.n_renders = 0  # one may be tried when the film is set up
    env.begin_episode(0, 0)
    env.reset(seed=0)
    env.render()
    for step in range(1, 4):
        env.step(0)
        assert env.render()[0, 0, 0] == 10 * step
    env.close()

    assert Counts.n_renders == 1 + 3


def index_of(out: Path) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = json.loads((out / "videos" / "index.json").read_text())
    return entries


WITHOUT_VIDEOS = """
import sys
import stable_baselines3  # older ones import tensorboard, which imports PIL
before = set(sys.modules)
from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.evaluate import evaluate

evaluate(None, EnvConfig(id="CartPole-v1"), EvaluationConfig(n_episodes=1), seed=0)
new = set(sys.modules) - before
print([name for name in ("imageio_ffmpeg", "mimetic_video.encoder", "pygame", "PIL") if name in new])
"""


def test_an_evaluation_without_videos_imports_no_encoder_and_no_window() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_VIDEOS], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
