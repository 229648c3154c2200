"""What do the options mean that every command has which plays episodes: policy, environment, how many, from where?"""

import argparse
from typing import TYPE_CHECKING, Any

from mimetic.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mimetic.config import EnvConfig, EvaluationConfig
    from mimetic.config.slots import Level

DEFAULT_EPISODES = 20

SOURCE = "command line"
"""Where a fault was written."""


def add_policy_and_env(parser: argparse.ArgumentParser) -> None:
    """Add what acts and where."""
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


def add_amount(parser: argparse.ArgumentParser) -> None:
    """Add how many episodes."""
    add = parser.add_argument
    add("--episodes", metavar="N", type=int, help=f"how many (default: {DEFAULT_EPISODES}, unless --timesteps)")
    add("--timesteps", metavar="N", type=int, help="as many episodes as have at least so many steps together")


def add_stepping(parser: argparse.ArgumentParser) -> None:
    """Add how environments are stepped, and what the episodes begin from."""
    add = parser.add_argument
    add("--n-envs", metavar="N", type=int, default=1, help="environments that are stepped together (default: 1)")
    add("--processes", action="store_true", help="give each environment a process: pays for slow ones only")
    add("--vectorization", choices=("sb3", "native"), default="sb3", help="native: gymnasium.make_vec, without seeds")
    add(
        "--max-steps", metavar="N", type=int, default=1_000_000, help="cut an episode that is longer (default: 1000000)"
    )
    add("--seed", metavar="S", type=int, default=0, help="where every episode's seed comes from (default: 0)")
    add("--device", metavar="D", default="auto", help="where the policy is calculated (default: auto)")


def read_playing(
    options: argparse.Namespace, own: "Mapping[str, Any]", faults: "Faults"
) -> "tuple[EnvConfig, EvaluationConfig]":
    """Turn the options into settings; ``own`` are those of one command. Every fault is reported, not only the first."""
    from mimetic.config import EnvConfig, EvaluationConfig, parse_choice, validated

    around: tuple[Level, ...] = ("env", "venv")
    wrappers = [faults.of("--wrapper", parse_choice, each, "wrapper", levels=around) for each in options.wrapper]
    explore = options.explore and faults.of("--explore", parse_choice, options.explore, "wrapper", levels=("policy",))
    n_episodes = DEFAULT_EPISODES if options.episodes is None and options.timesteps is None else options.episodes
    values = {
        "n_episodes": n_episodes,
        "n_timesteps": options.timesteps,
        "seed": options.seed,
        "n_envs": options.n_envs,
        "max_steps": options.max_steps,
        "processes": options.processes,
        "vectorization": options.vectorization,
        "explore": explore or None,
        "wrappers": tuple(each for each in wrappers if each is not None),
        **own,
    }
    settings: EvaluationConfig = faults.of("", validated, EvaluationConfig, values, source=SOURCE)
    kwargs = faults.of("--env-kwargs", _arguments, options.env_kwargs)
    n_faults = len(faults)
    recorded = faults.of("POLICY", _recorded_env, options.policy)
    env: Any = None
    if options.env is not None or len(faults) == n_faults:  # else nobody knows what the policy would have named
        env = faults.of("--env", _env, EnvConfig, recorded, options.env, kwargs or {})
    faults.raise_if_any()
    return env, settings


class Faults:
    """Everything that is wrong with a command line, each under its option."""

    def __init__(self, option_of: "Mapping[str, str] | None" = None) -> None:
        """Know the settings whose option is called otherwise."""
        self._faults: list[Fault] = []
        self._option_of = {"n_episodes": "--episodes", "n_timesteps": "--timesteps", **(option_of or {})}

    def __len__(self) -> int:
        return len(self._faults)

    def of(self, option: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``function``; keep its faults and return None when it has any. Other errors are for the caller."""
        from mimetic.errors import ConfigError

        try:
            return function(*args, **kwargs)
        except ConfigError as error:
            for fault in error.faults:
                self.add(option or self._option(fault.path), fault.message)

    def add(self, option: str, message: str) -> None:
        """Keep one fault."""
        self._faults.append(Fault(message, option, SOURCE))

    def raise_if_any(self) -> None:
        """Raise them together."""
        from mimetic.errors import ConfigError

        if self._faults:
            raise ConfigError(self._faults)

    def _option(self, path: str) -> str:
        return self._option_of.get(path, f"--{path.replace('_', '-')}") if path else ""


def _arguments(words: "Sequence[str]") -> dict[str, Any]:
    """Read ``KEY=VALUE`` words; values are YAML, else bare text."""
    from mimetic.config import parse_value
    from mimetic.errors import ConfigError

    arguments = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ConfigError(f"expected KEY=VALUE, seen {word!r}")
        arguments[key] = parse_value(text, key)
    return arguments


def _env(
    model: "type[EnvConfig]", recorded: "Mapping[str, Any] | None", asked: str | None, kwargs: "Mapping[str, Any]"
) -> "EnvConfig":
    """Return the environment: the policy file's, with what was asked for changed."""
    from mimetic.config import validated
    from mimetic.errors import ConfigError

    if asked is None and recorded is None:
        raise ConfigError("is missing: the policy names no environment of its own")
    env: dict[str, Any] = dict(recorded or {})
    if asked is not None and asked != env.get("id"):
        env = {"id": asked, "wrappers": env.get("wrappers", ())}  # the policy needs to see what it saw
    return validated(model, {**env, "kwargs": {**(env.get("kwargs") or {}), **kwargs}}, source=SOURCE)


def _recorded_env(policy: str) -> "Mapping[str, Any] | None":
    """Return the environment that a policy file names; None for a SPEC, which is looked at here once."""
    import os

    from mimetic.config import parse_choice
    from mimetic.errors import UnknownComponentError
    from mimetic.storage import file_kind, read_policy_file

    if os.path.isdir(policy) or file_kind(policy) is not None:
        return read_policy_file(policy).env
    try:
        parse_choice(policy, "policy")
    except UnknownComponentError as error:
        if os.path.exists(policy):
            read_policy_file(policy)  # says what it is instead
        reason = "; ".join(fault.message for fault in error.faults)
        raise UnknownComponentError(f"there is no file or folder {policy!r}, and {reason}") from error
    return None
