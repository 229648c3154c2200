"""``mimetic collect``: roll a policy out, or play, and keep what was done as demonstrations."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from mimetic.cli.playing import Faults, add_amount, add_policy_and_env, add_stepping, read_playing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mimetic.config import Choice, EnvConfig, EvaluationConfig
    from mimetic.evaluate import Collection

FAILED, INTERRUPTED = 1, 130

HUMAN = "human"
"""The policy that is somebody at the keyboard."""


def run(argv: list[str]) -> int:
    """Collect demonstrations, and say what there is of them."""
    options = parser().parse_args(argv)
    policy, env, settings = read(options)

    from mimetic.cli.telling import plain_warnings
    from mimetic.evaluate.collection import record, require_free
    from mimetic.run.surroundings import torch_threads

    assert settings.save_rollouts is not None
    require_free(settings.save_rollouts)
    try:
        with torch_threads(1), plain_warnings():
            done = record(policy, env, settings, seed=options.seed, device=options.device, progress=True)
    except BaseException:
        _tell_what_is_kept(settings.save_rollouts, options.out)
        raise
    sys.stdout.writelines(f"{line}\n" for line in _report(done, env, settings, options))
    if done.interrupted:
        return INTERRUPTED
    return 0 if len(done.returns) else FAILED


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="mimetic collect",
        description="Roll a policy out and keep what it did as a native dataset: exactly as many episodes as asked, "
        "each from a seed of its own. The data do not depend on --n-envs. The policy 'human' is you, at the keyboard.",
        epilog="Examples: mimetic collect runs/cartpole --episodes 100 --n-envs 8 --out more.safetensors; "
        "mimetic collect human --env MountainCar-v0 --out mine.safetensors",
    )
    add = made.add_argument
    add_policy_and_env(made)
    add_amount(made)
    add("--deterministic", action="store_true", help="take the likeliest actions instead of drawing them")
    add("--explore", metavar="SPEC", help="take other actions now and then, e.g. epsilon-greedy:epsilon=0.1")
    add_stepping(made)
    add("--render", action="store_true", help="show the environments in a window")
    add("--keys", metavar="KEY=ACTION,...", help="for human: which key does what, e.g. left=0,right=2,none=1")
    add("--fps", metavar="F", type=float, help="steps per second in the window")
    add("--out", metavar="PATH", required=True, help="one file when it ends in .safetensors, else a folder of such")
    return made


def read(options: argparse.Namespace) -> "tuple[str | Choice, EnvConfig, EvaluationConfig]":
    """Turn the options into policy, environment and settings; every fault is reported, not only the first."""
    plays = _plays(options)
    faults = Faults({"save_rollouts": "--out", "render_fps": "--fps"})
    own: dict[str, Any] = {
        "deterministic": options.deterministic,
        "render": options.render or plays,
        "save_rollouts": options.out,
    }
    if plays and options.episodes is None and options.timesteps is None:
        from mimetic.evaluate.evaluation import UNTIL_STOPPED

        own["n_episodes"] = UNTIL_STOPPED
    if options.fps is not None and not plays:
        own["render_fps"] = options.fps
        if not options.render:
            faults.add("--fps", "says nothing without a window: add --render")
    if options.keys is not None and not plays:
        faults.add("--keys", f"are for the policy {HUMAN!r}, seen {options.policy!r}")
    policy = faults.of("", _player, options) if plays else options.policy
    env, settings = read_playing(options, own, faults)
    return policy, env, settings


def _plays(options: argparse.Namespace) -> bool:
    return str(options.policy).partition(":")[0] == HUMAN


def _player(options: argparse.Namespace) -> "str | Choice":
    """Return the policy that is somebody at the keyboard, with the settings that options name."""
    from mimetic.config import Choice, parse_spec
    from mimetic.errors import UnknownComponentError
    from mimetic.plugins import registry

    _, settings = parse_spec(options.policy)
    settings |= {key: value for key in ("keys", "fps") if (value := getattr(options, key)) is not None}
    try:
        return Choice("policy", HUMAN, registry().make_config("policy", HUMAN, settings))
    except UnknownComponentError:
        return HUMAN  # which is told about with every other fault


def _report(
    done: "Collection", env: "EnvConfig", settings: "EvaluationConfig", options: argparse.Namespace
) -> "Iterator[str]":
    how = "by hand" if _plays(options) else "deterministic" if settings.deterministic else "stochastic"
    amount = f"{_counted(len(done.returns), 'episode')}, {_counted(done.n_transitions, 'transition')}"
    yield f"{env.id}: {amount}, {how}, seed {options.seed}"
    if not len(done.returns):
        yield "no episode was complete, so nothing was written"
        return
    if done.interrupted:
        yield "interrupted: these are the episodes that were complete"
    elif not done.complete and (options.episodes, options.timesteps) != (None, None):
        yield "the window was closed: these are the episodes that were complete"
    yield f"{'':<10} {'mean':>12} {'std':>12} {'min':>12} {'max':>12}"
    for name, column in (("return", done.returns), ("length", done.lengths)):
        numbers = (column.mean(), column.std(), column.min(), column.max())
        yield f"{name:<10} " + " ".join(f"{number:>12.2f}" for number in numbers)
    yield f"{done.n_terminated:,} terminated, {len(done.returns) - done.n_terminated:,} truncated"
    yield f"data: {options.out}"


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _tell_what_is_kept(path: "Path", name: str) -> None:
    """Say what an error left on the disk, if anything."""
    from mimetic.errors import DataError
    from mimetic.storage import load_demonstrations

    try:
        kept = load_demonstrations(path)
    except DataError:
        return
    sys.stderr.write(f"{name} holds what was complete before: {_counted(len(kept), 'episode')}\n")
