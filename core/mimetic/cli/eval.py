"""``mimetic eval``: how well a policy does, exactly."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mimetic.config import EnvConfig, EvaluationConfig
    from mimetic.evaluate import EvaluationResult
    from mimetic.rundir import RunDir

DEFAULT_EPISODES = 20
INTERRUPTED = 130


def run(argv: list[str]) -> int:
    """Evaluate a policy, and say how it did."""
    options = _parser().parse_args(argv)
    env, settings = _read(options)

    from mimetic.evaluate import evaluate
    from mimetic.run.surroundings import torch_threads

    folder = _folder(options)
    try:
        with torch_threads(1), _plain_warnings():
            result = evaluate(
                options.policy,
                env,
                settings,
                seed=options.seed,
                out=folder.path if folder else None,
                device=options.device,
                progress=True,
            )
        if folder is not None:
            folder.write_json("evaluation.json", result.as_dict())
    finally:
        if folder is not None:
            folder.discard_if_empty()
    _tell(result, env, settings, options, folder)
    return INTERRUPTED if result.interrupted else 0


# --- what was asked ---------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mimetic eval",
        description="Evaluate a policy on exactly as many episodes as asked, each from a seed of its own. The result "
        "does not depend on --n-envs. Nothing is written unless --out, --videos or --save-rollouts is given.",
        epilog="Example: mimetic eval runs/cartpole --episodes 50 --n-envs 8 --videos one",
    )
    add = parser.add_argument
    add("policy", metavar="POLICY", help="a run's folder, a policy file, or a SPEC: name or name:key=value,...")
    add("--env", metavar="ID", help="the environment; default: the policy file's, with its arguments and wrappers")
    add(
        "--env-kwargs", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="arguments of its constructor"
    )
    add(
        "--wrapper",
        metavar="SPEC",
        nargs="+",
        action="extend",
        default=[],
        help="wrappers around one environment or all, the first innermost, outside of the policy file's",
    )
    add("--episodes", metavar="N", type=int, help=f"how many count (default: {DEFAULT_EPISODES}, unless --timesteps)")
    add("--timesteps", metavar="N", type=int, help="as many episodes as have at least so many steps together")
    add("--stochastic", action="store_true", help="draw actions instead of taking the likeliest")
    add("--n-envs", metavar="N", type=int, default=1, help="environments that are stepped together (default: 1)")
    add("--processes", action="store_true", help="give each environment a process: pays for slow ones only")
    add("--vectorization", choices=("sb3", "native"), default="sb3", help="native: gymnasium.make_vec, without seeds")
    add(
        "--max-steps", metavar="N", type=int, default=1_000_000, help="cut an episode that is longer (default: 1000000)"
    )
    add("--seed", metavar="S", type=int, default=0, help="where every episode's seed comes from (default: 0)")
    add("--device", metavar="D", default="auto", help="where the policy is calculated (default: auto)")
    add("--out", metavar="DIR", help="a folder for evaluation.json and videos, new or empty")
    add("--videos", choices=("one", "episodes"), help="film the counted episodes: a file per environment, or episode")
    add("--render", action="store_true", help="show the environments in a window")
    add("--render-fps", metavar="F", type=float, default=60.0, help="steps per second in it; 0: as fast as it goes")
    add("--reward", metavar="SPEC", help="a reward in place of the environment's, whose own is reported beside it")
    add("--explore", metavar="SPEC", help="take other actions now and then, e.g. epsilon-greedy:epsilon=0.1")
    add("--save-rollouts", metavar="FILE", help="save the counted episodes: FILE.safetensors, or a folder of such")
    add("--json", action="store_true", help="print one JSON document and nothing else")
    return parser


def _read(options: argparse.Namespace) -> "tuple[EnvConfig, EvaluationConfig]":
    """Turn the options into settings; every fault is reported, not only the first."""
    from mimetic.config import EnvConfig, EvaluationConfig, parse_choice
    from mimetic.errors import ConfigError

    faults = _Faults()
    wrappers = [faults.of(parse_choice, spec, "wrapper", levels=("env", "venv")) for spec in options.wrapper]
    reward = faults.of(parse_choice, options.reward, "reward") if options.reward else None
    explore = faults.of(parse_choice, options.explore, "wrapper", levels=("policy",)) if options.explore else None
    values: dict[str, Any] = {
        "n_episodes": options.episodes,
        "n_timesteps": options.timesteps,
        "n_envs": options.n_envs,
        "deterministic": not options.stochastic,
        "max_steps": options.max_steps,
        "processes": options.processes,
        "vectorization": options.vectorization,
        "videos": options.videos,
        "render": options.render,
        "render_fps": options.render_fps,
        "save_rollouts": options.save_rollouts,
        "reward": reward,
        "explore": explore,
        "wrappers": tuple(choice for choice in wrappers if choice is not None),
    }
    if options.episodes is None and options.timesteps is None:
        values["n_episodes"] = DEFAULT_EPISODES
    settings = faults.of(_validated, EvaluationConfig, values)
    env = faults.of(_env, EnvConfig, options)
    if options.seed < 0:
        faults.add(ConfigError(f"command line: --seed is {options.seed}; expected a number that is not negative"))
    faults.raise_if_any()
    return env, settings


class _Faults:
    """Everything that is wrong with a command line."""

    def __init__(self) -> None:
        self._errors: list[Any] = []

    def of(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``function``; keep its faults and return None when it has any."""
        from mimetic.errors import ConfigError

        try:
            return function(*args, **kwargs)
        except ConfigError as error:
            self.add(error)

    def add(self, error: Any) -> None:
        """Keep the faults of an error."""
        self._errors.append(error)

    def raise_if_any(self) -> None:
        """Raise them together; a lone error as it was."""
        from mimetic.errors import ConfigError

        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise ConfigError([fault for error in self._errors for fault in error.faults])


def _env(model: "type[EnvConfig]", options: argparse.Namespace) -> "EnvConfig":
    """Return the environment: the policy file's, with what was asked for changed."""
    from mimetic.config import parse_value
    from mimetic.errors import ConfigError

    recorded = _recorded_env(options.policy)
    if options.env is None and recorded is None:
        raise ConfigError("command line: --env is missing: the policy names no environment of its own")
    env: dict[str, Any] = dict(recorded or {})
    if options.env is not None and options.env != env.get("id"):
        env = {"id": options.env, "wrappers": env.get("wrappers", ())}  # what the policy needs to see stays
    kwargs = dict(env.get("kwargs") or {})
    for word in options.env_kwargs:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ConfigError(f"command line: --env-kwargs takes KEY=VALUE, seen {word!r}")
        kwargs[key] = parse_value(text, key)
    config: EnvConfig = _validated(model, {**env, "kwargs": kwargs})
    return config


def _recorded_env(policy: str) -> "Mapping[str, Any] | None":
    import os

    from mimetic.storage import file_kind, read_policy_file

    if os.path.isdir(policy) or file_kind(policy) is not None:
        return read_policy_file(policy).env
    return None


def _validated(model: Any, values: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    from mimetic.config.document import Document
    from mimetic.config.faults import raise_faults

    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise_faults(error, Document(values, "command line"))


def _folder(options: argparse.Namespace) -> "RunDir | None":
    """Make the folder of the evaluation, when something is to be written."""
    if not (options.out or options.videos or options.save_rollouts):
        return None
    from itertools import count
    from pathlib import Path

    from mimetic.rundir import RunDir

    if options.out:
        return RunDir.create(options.out, "evaluation")
    root = Path("evaluations")
    name = _policy_name(options.policy)
    for number in count(1):
        path = root / f"{name}-{number}"
        if not path.exists():
            return RunDir.create(path, name)
    raise AssertionError("numbers do not end")


def _policy_name(policy: str) -> str:
    """Name an evaluation after its policy: the run, the file or the component."""
    from pathlib import Path

    path = Path(policy)
    if not path.exists():
        return policy.partition(":")[0].replace("/", "-") or "policy"
    path = path.absolute()
    if path.is_file() and path.stem == "policy":
        return path.parent.name  # a run's folder
    return path.stem if path.is_file() else path.name


# --- what is said -----------------------------------------------------------------------------------------------


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings as sentences, without the line of code that they come from."""
    import warnings

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        sys.stderr.write(f"mimetic: warning: {message}\n")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _tell(
    result: "EvaluationResult",
    env: "EnvConfig",
    settings: "EvaluationConfig",
    options: argparse.Namespace,
    folder: "RunDir | None",
) -> None:
    places = [f"folder: {folder.path}"] if folder else []
    if settings.save_rollouts is not None and result.trajectories is not None:
        places.append(f"rollouts: {settings.save_rollouts}")
    if options.json:
        import json

        text = json.dumps(result.as_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        sys.stdout.write(f"{text}\n")
        sys.stderr.write("".join(f"{place}\n" for place in places))
        return
    how = "deterministic" if settings.deterministic else "stochastic"
    steps = sum(episode.length for episode in result.episodes)
    head = f"{env.id}: {len(result.episodes)} episodes, {steps:,} steps, {how}, seed {options.seed}"
    early = ["interrupted: these are the episodes that were complete"] if result.interrupted else []
    sys.stdout.write("\n".join([head, *early, *_table(result.statistics), *places]) + "\n")


def _table(said: "Mapping[str, float | int | None]") -> "Sequence[str]":
    """Lay mean, spread and extremes out, a row each for return, the environment's own return, and length."""
    if not said["n_traj"]:
        return []
    names = {"return": "return", "env_return": "env return", "len": "length"}
    if all(said.get(f"env_return_{key}") == said[f"return_{key}"] for key in ("mean", "std", "min", "max")):
        del names["env_return"]
    rows = [f"{'':<10} {'mean':>12} {'std':>12} {'min':>12} {'max':>12}"]
    for key, name in names.items():
        if f"{key}_mean" in said:
            numbers = " ".join(f"{said[f'{key}_{what}']:>12.2f}" for what in ("mean", "std", "min", "max"))
            rows.append(f"{name:<10} {numbers}")
    rows.append(f"95% interval of the mean return: {said['return_ci_low']:.2f} to {said['return_ci_high']:.2f}")
    if said.get("is_success") is not None:
        rows.append(f"success: {said['is_success']:.1%}")
    return rows
