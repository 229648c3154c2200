"""Playing with the keyboard: keys that are posted to an unseen window become actions, and actions demonstrations."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from mimetic.cli import main
from mimetic.config import EnvConfig, EvaluationConfig
from mimetic.errors import ConfigError
from mimetic.evaluate import Collection, collect, evaluate
from mimetic.hookspecs import PolicyContext
from mimetic.plugins import registry
from mimetic.storage import load_demonstrations
from mimetic_render import HumanActor, InteractiveRender
from worlds import Len

pygame = pytest.importorskip("pygame")


class Played(Len):
    """``Len`` with three actions, which lets fingers look at where it stands."""

    now: ClassVar[tuple[int, int]] = (-1, 0)  # episode and step

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(4, **kwargs)
        self.action_space = spaces.Discrete(3)

    def _obs(self) -> np.ndarray:
        Played.now = (self.episode, self.t)
        return super()._obs()


class Pushed(Played):
    """``Played`` with a continuous action."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.action_space = spaces.Box(-2, 2, (1,), np.float32)


gym.register("mimetic-tests/Played-v0", entry_point=Played, disable_env_checker=True)
gym.register("mimetic-tests/Pushed-v0", entry_point=Pushed, disable_env_checker=True)
PLAYED = "mimetic-tests/Played-v0"
KEYS = "left=0,right=2,none=1"

Script = Callable[[int, int, int], str]
"""Says which keys are down (in words) in an episode, before a step, at the n-th look since then."""


class Fingers:
    """Post key events whenever the window looks for some, so that the keys are down that a script names."""

    def __init__(self, script: Script) -> None:
        self._script, self._down = script, list[str]()
        self._place, self._n_looks = (-2, 0), 0
        self._get = pygame.event.get
        self.titles: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if Played.now != self._place:
            self._place, self._n_looks = Played.now, 0
        wanted = self._script(*self._place, self._n_looks).split()
        self._n_looks += 1
        for name in [name for name in self._down if name not in wanted]:
            post(pygame.KEYUP, name)
        for name in [name for name in wanted if name not in self._down]:
            post(pygame.KEYDOWN, name)
        self._down = wanted
        self.titles.append(pygame.display.get_caption()[0])
        return self._get(*args, **kwargs)


def post(kind: int, name: str) -> None:
    pygame.event.post(pygame.event.Event(kind, key=pygame.key.key_code(name), unicode=""))


@pytest.fixture(autouse=True)
def _unseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.chdir(tmp_path)
    Played.now = (-1, 0)
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    yield
    pygame.display.quit()


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Collection]:
    """Collect from a script's fingers."""

    def played(script: Script, *, keys: Any = KEYS, env: Any = PLAYED, **options: Any) -> Collection:
        monkeypatch.setattr(pygame.event, "get", fingers := Fingers(script))
        played.titles = fingers.titles  # type: ignore[attr-defined]  # for the test to look at
        options = {"n_episodes": 1, **options}
        policy = "human" if keys is None else f"human:keys={'{'}{keys.replace('=', ': ')}{'}'}"
        return collect(policy, env, "mine.safetensors", seed=0, render=True, **options)

    return played


def begins(keys_of: Callable[[int, int], str]) -> Script:
    """Let an episode begin by letting go and pressing anew, once the first picture has been shown for its time."""
    return lambda episode, step, look: "" if resting(step, look) else keys_of(episode, step)


def resting(step: int, look: int) -> bool:
    return step == 0 and look < 8


# --- from keys to actions ---------------------------------------------------------------------------------------


def test_the_keys_that_are_down_are_the_actions_that_are_recorded(play: Callable[..., Collection]) -> None:
    """Right, then left as well (the latest counts), then nothing, then left."""
    done = play(begins(lambda episode, step: ["right", "right left", "", "left"][min(step, 3)]))

    assert done.load().acts.tolist() == [2, 0, 1, 0]
    assert done.complete


def test_what_is_recorded_is_a_dataset_like_any_other(play: Callable[..., Collection]) -> None:
    done = play(begins(lambda episode, step: "left"), n_episodes=2)

    data = done.load()
    assert np.asarray(data.obs)[:, 0].tolist() == [0, 1, 2, 3, 4] * 2
    assert data.acts.dtype == np.int64
    assert data.action_space == spaces.Discrete(3)
    assert data.terminals.tolist() == [True, True]
    assert done.returns.tolist() == [4.0, 4.0]


def test_a_key_that_is_tapped_between_two_steps_counts_for_one(
    play: Callable[..., Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down and up again before the window looks: at 30 steps a second fingers may be faster."""

    def tap(episode: int, step: int, look: int) -> str:
        if (step, look) in ((0, 8), (2, 0)):
            post(pygame.KEYDOWN, "right")
            post(pygame.KEYUP, "right")
        return ""

    assert play(tap).load().acts.tolist() == [2, 1, 2, 1]


def test_an_episode_begins_with_a_new_press(play: Callable[..., Collection]) -> None:
    """A key that is still down from the last episode, or that means nothing, begins none."""

    def script(episode: int, step: int, look: int) -> str:
        if (episode, step) == (0, 0):
            return "" if look < 8 else "left"
        if (episode, step) == (1, 0):
            return "left" if look < 8 else ["left x", "left", "", "right"][min(look - 8, 3)]
        return "left" if episode == 0 else "right"

    assert play(script, n_episodes=2).load().acts.tolist() == [0] * 4 + [2] * 4


def test_without_a_key_the_last_action_may_be_repeated(play: Callable[..., Collection]) -> None:
    done = play(begins(lambda episode, step: ["right", "", "left", ""][min(step, 3)]), keys="left=0,right=2")

    assert done.load().acts.tolist() == [2, 2, 0, 0]


def test_without_a_key_nothing_may_move(play: Callable[..., Collection]) -> None:
    """Each step waits for nine looks."""
    looks: list[tuple[int, int]] = []

    def script(episode: int, step: int, look: int) -> str:
        looks.append((step, look))
        return "" if look < 9 else ["right", "left", "right", "left"][min(step, 3)]

    done = play(script, keys="left=0,right=2,none=wait")

    assert done.load().acts.tolist() == [2, 0, 2, 0]
    assert {step for step, look in looks if look >= 9} == {0, 1, 2, 3}


def test_continuous_actions_are_played_too(play: Callable[..., Collection]) -> None:
    done = play(
        begins(lambda episode, step: ["left", "", "left right", "right"][min(step, 3)]),
        keys="left=[-2.0],right=[1.5]",
        env="mimetic-tests/Pushed-v0",
    )

    assert done.load().acts.tolist() == [[-2.0], [0.0], [-0.5], [1.5]]


def test_a_key_that_means_something_commands_the_window_no_more(play: Callable[..., Collection]) -> None:
    """Space would pause, q would quit; the title offers other keys for that."""
    done = play(begins(lambda episode, step: ["space", "q", "", "q"][min(step, 3)]), keys="space=0,q=2,none=1")

    assert done.load().acts.tolist() == [0, 2, 1, 2]
    assert "(p pause, - slower, escape quit)" in play.titles[-1]  # type: ignore[attr-defined]  # see the fixture


def test_other_keys_still_pause(play: Callable[..., Collection]) -> None:
    """Paused after the second step until p is pressed again, 20 looks later."""
    looks: list[tuple[int, int]] = []

    def script(episode: int, step: int, look: int) -> str:
        looks.append((step, look))
        if resting(step, look):
            return ""
        return "left p" if step == 2 and look in (0, 20) else "left"

    assert play(script).load().acts.tolist() == [0] * 4
    assert max(look for step, look in looks if step == 2) >= 20


def test_the_title_says_what_to_do(play: Callable[..., Collection]) -> None:
    play(begins(lambda episode, step: "left"), n_episodes=2)

    assert play.titles[0].startswith("mimetic: 1 x 30 steps/s")  # type: ignore[attr-defined]  # see the fixture
    assert "episode 2: press left, right; 30 steps/s (space pause, - slower, q quit)" in play.titles  # type: ignore[attr-defined]  # see the fixture
    assert "episode 2: left, right; 30 steps/s (space pause, - slower, q quit)" in play.titles  # type: ignore[attr-defined]  # see the fixture


# --- how fast ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown_at", "given", "rate"), [(15, None, 15), (50, None, 30), (None, None, 30), (50, 80, 80)]
)
def test_the_rate_is_the_environments_own_but_thirty_at_most_or_the_one_that_is_given(
    shown_at: int | None, given: float | None, rate: float
) -> None:
    env = Played(render_mode="rgb_array")
    env.metadata = {"render_fps": shown_at}

    screen, _ = human(env, fps=given, keys={"left": 0})

    assert screen.fps == rate
    screen.close()


def human(*envs: gym.Env[Any, Any], window: bool = True, **options: Any) -> tuple[Any, HumanActor]:
    venv: Any = DummyVecEnv([lambda env=env: env for env in envs])  # type: ignore[misc]  # each its own
    if window:
        venv = InteractiveRender(venv, 60)
    context = PolicyContext(
        observation_space=venv.observation_space,
        action_space=venv.action_space,
        device=torch.device("cpu"),
        seed=0,
        base_dir=Path.cwd(),
        venv=venv,
    )
    return venv, registry().build("policy", "human", options, context)


# --- the end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["escape", "q", "close"])
def test_ending_keeps_the_complete_episodes_and_drops_the_one_that_was_broken_off(
    play: Callable[..., Collection], way: str
) -> None:
    def script(episode: int, step: int, look: int) -> str:
        if (episode, step) == (2, 2):
            if way == "close":
                pygame.event.post(pygame.event.Event(pygame.QUIT))
            else:
                return way
        return "" if resting(step, look) else "left"

    done = play(script, n_episodes=9)

    assert (done.complete, done.interrupted) == (False, False)
    assert done.load().lengths.tolist() == [4, 4]


def test_ctrl_c_is_obeyed_while_a_key_is_waited_for(play: Callable[..., Collection]) -> None:
    def script(episode: int, step: int, look: int) -> str:
        if (episode, look) == (1, 12):
            os.kill(os.getpid(), signal.SIGINT)
        return "" if episode == 1 or resting(step, look) else "left"

    done = play(script, n_episodes=9)

    assert (done.complete, done.interrupted, len(done.load())) == (False, True, 1)


def test_ctrl_c_is_obeyed_while_the_window_is_paused(play: Callable[..., Collection]) -> None:
    def script(episode: int, step: int, look: int) -> str:
        if (episode, step, look) == (1, 2, 5):
            os.kill(os.getpid(), signal.SIGINT)
        if (episode, step, look) == (1, 2, 0):
            return "space"
        return "" if resting(step, look) else "left"

    done = play(script, n_episodes=9)

    assert (done.complete, done.interrupted, len(done.load())) == (False, True, 1)


def test_each_episode_is_on_the_disk_before_the_next_one_begins(play: Callable[..., Collection]) -> None:
    """Nobody plays twice because a machine died."""
    on_disk: set[tuple[int, int]] = set()

    def script(episode: int, step: int, look: int) -> str:
        if step == 2:
            on_disk.add((episode, len(load_demonstrations("mine.safetensors")) if episode else 0))
        return "" if resting(step, look) else "left"

    play(script, n_episodes=3)

    assert on_disk == {(0, 0), (1, 1), (2, 2)}


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    def run(script: Script, *words: str) -> int:
        monkeypatch.setattr(pygame.event, "get", Fingers(script))
        return main(["collect", "human", "--env", PLAYED, *words])

    return run


def until(end: int, way: str = "escape") -> Script:
    """Play left until an episode, then end it."""
    return lambda episode, step, look: way if (episode, step) == (end, 1) else "" if resting(step, look) else "left"


def test_people_play_until_they_close_the_window(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(until(3), "--keys", KEYS, "--out", "mine.safetensors") == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{PLAYED}: 3 episodes, 12 transitions, by hand, seed 0"
    assert not any("closed" in line for line in lines)
    assert load_demonstrations("mine.safetensors").acts.tolist() == [0] * 12


def test_a_number_of_episodes_ends_it_by_itself(command: Callable[..., int]) -> None:
    assert command(until(99), "--keys", KEYS, "--episodes", "2", "--fps", "12", "--out", "mine") == 0

    assert len(load_demonstrations("mine")) == 2


def test_fewer_episodes_than_asked_for_are_told(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(until(1), "--keys", KEYS, "--episodes", "5", "--out", "mine") == 0

    assert "the window was closed: these are the episodes that were complete" in capsys.readouterr().out


def test_when_no_episode_was_complete_nothing_is_written_and_the_status_is_1(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command(until(0), "--keys", KEYS, "--out", "mine") == 1

    assert "no episode was complete, so nothing was written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_the_terminal_ends_with_130(command: Callable[..., int]) -> None:
    def script(episode: int, step: int, look: int) -> str:
        if (episode, step) == (1, 2) and look == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return "" if resting(step, look) else "left"

    assert command(script, "--keys", KEYS, "--out", "mine") == 130
    assert len(load_demonstrations("mine")) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], r"nobody knows which key means what in mimetic-tests/Played-v0, whose actions are Discrete(3): say it"),
        (["--keys", "left=7"], "keys: left=7 is no action of Discrete(3)"),
        (
            ["--keys", "left"],
            "--keys: policy 'human': expected key=value after 'keys', seen 'left' (form: left=0,right=1)",
        ),
        (["--keys", KEYS, "--fps", "0"], "--fps: "),
        (["--keys", KEYS, "--n-envs", "2", "--episodes", "2"], "plays in one environment at a time, and n_envs is 2"),
        (["--keys", KEYS, "--vectorization", "native"], "native environments are stepped as gymnasium builds them"),
    ],
)
def test_what_cannot_be_played_is_refused_before_it_begins(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["collect", "human", "--env", PLAYED, *words, "--out", "mine"]) == 2

    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_settings_may_also_stand_in_the_word(command: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame.event, "get", Fingers(until(2)))

    words = ["human:keys={left: 2},fps=99", "--env", PLAYED, "--episodes", "2", "--out", "mine"]
    assert main(["collect", *words]) == 0

    assert load_demonstrations("mine").acts.tolist() == [2] * 8


# --- elsewhere --------------------------------------------------------------------------------------------------


def test_somebody_who_sees_nothing_cannot_play() -> None:
    with pytest.raises(ConfigError, match="the policy 'human' acts on what it sees, so it needs the window"):
        human(Played(), window=False)
    with pytest.raises(ConfigError, match="it needs the window"):
        evaluate("human", EnvConfig(id=PLAYED), EvaluationConfig(n_episodes=1), seed=0)


def test_people_can_be_evaluated_like_any_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame.event, "get", Fingers(begins(lambda episode, step: "left")))
    settings = EvaluationConfig(n_episodes=3, render=True)

    result = evaluate("human:keys={left: 0}", EnvConfig(id=PLAYED), settings, seed=0)

    assert [(record.env_return, record.seed) for record in result.episodes] == [(4.0, None)] * 3
