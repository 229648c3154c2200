"""Run files: everything that a run is made of, section by section."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails, PydanticCustomError

from mimetic.config.component import ComponentConfig, ConfigPath, is_text, line_error
from mimetic.config.slots import (
    AlgorithmSlot,
    Choice,
    ComponentSlot,
    DataSourceSlot,
    EnvWrapperSlot,
    LoggerSlot,
    LossSlot,
    PolicyWrapperSlot,
    RewardSlot,
)
from mimetic.errors import MimeticError
from mimetic.plugins import registry
from mimetic.plugins.wording import seen

VIDEO = "video"  # the wrapper that films
RENDER = "render"  # the wrapper that draws into a window

_NAME = re.compile(r"[^/\\\0]+")
_MOST_BITS = 256  # of a whole number among an environment's arguments
_DEVICE = r"^(auto|[a-z]+(:[0-9]+)?)$"


# --- what a value must be, beside its type ----------------------------------------------------------------------


def _run_name(name: str) -> str:
    if name in (".", "..") or name != name.strip() or not _NAME.fullmatch(name) or not name.isprintable():
        raise ValueError(f"a run's name becomes a folder: expected a name without '/', seen {seen(name)}")
    return name


def _requirement(text: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"expected a requirement such as 'acme-mimetic>=1.2', seen {seen(text)}: {reason}") from None
    return text


def _plain(value: object) -> object:
    """Return plain data, tuples as lists, or say what is none: a run file has to be able to hold it."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str) and is_text(value):
        return str(value)
    if value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() <= _MOST_BITS):
        return value
    text = f"expected plain values (numbers, text, lists, mappings), seen {seen(value)}"
    raise PydanticCustomError("plain_type", "{text}", {"text": text})


def _several(value: object) -> object:
    """One source may stand without a list around it."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _film(value: object) -> object:
    """Read ``none`` as nothing; all else is for the slot."""
    return None if value == "none" or (isinstance(value, Mapping) and value.get("mode") == "none") else value


def _film_as_written(value: object) -> object:
    if not isinstance(value, Choice):
        return "none"
    return {key: item for key, item in value.as_dict().items() if (key, item) != ("name", VIDEO)}


Requirements = tuple[Annotated[str, AfterValidator(_requirement)], ...]
TrainedPolicySlot = Annotated[Choice, ComponentSlot("policy", trainable=True)]
VideoSlot = Annotated[Choice, ComponentSlot("wrapper", levels=("env",), implied=VIDEO, shorthand="mode")]
EvaluationWrapperSlot = Annotated[Choice, ComponentSlot("wrapper", levels=("env", "venv"))]


# --- sections ---------------------------------------------------------------------------------------------------


class EnvConfig(ComponentConfig):
    """The environment: what it is made from and what is around it wherever it is built."""

    id: str = Field(min_length=1)
    """gymnasium's name of it, e.g. ``CartPole-v1``; ``module:Env-v0`` imports the module first."""

    kwargs: Annotated[dict[str, Any], BeforeValidator(_plain)] = Field(default_factory=dict)
    """Arguments of its constructor. Free here; they are checked when the environment is built."""

    max_episode_steps: int | None = Field(default=None, ge=1)
    """Truncate episodes after so many steps; null: as the environment is registered."""

    wrappers: tuple[EnvWrapperSlot, ...] = ()
    """Wrappers of level `env`, the first one innermost."""


class EvaluationConfig(ComponentConfig):
    """How the policy is evaluated, and what is kept of it."""

    n_episodes: int | None = Field(default=20, ge=1)
    """Evaluate at least so many episodes; exactly so many when `n_timesteps` is null."""

    n_timesteps: int | None = Field(default=None, ge=1)
    """Evaluate whole episodes until there are at least so many steps."""

    seed: int = Field(default=0, ge=0)
    """Which episodes: equal seeds give equal ones, whatever was trained: runs are compared on the same starts."""

    n_envs: int = Field(default=1, ge=1)
    """Environments that are stepped together. The result does not depend on it."""

    deterministic: bool = True
    """Take the policy's likeliest action; false: draw it."""

    every_n_epochs: int | None = Field(default=None, ge=1)
    """Evaluate after every so many epochs too; null: only at the end."""

    max_steps: int = Field(default=1_000_000, ge=1)
    """Truncate an episode that reaches so many steps, with a warning."""

    processes: bool = False
    """Run each environment in a process of its own: pays for slow environments only."""

    vectorization: Literal["sb3", "native"] = "sb3"
    """How environments are stepped together; ``native``: by gymnasium's own vector environments."""

    videos: Annotated[VideoSlot | None, BeforeValidator(_film), PlainSerializer(_film_as_written, return_type=Any)] = (
        None
    )
    """``none``, ``one`` (a file an environment), ``episodes`` (one an episode), or a mapping with that as ``mode``."""

    render: bool = False
    """Draw the environments into a window meanwhile."""

    render_fps: float = 60.0
    """Steps per second in the window; zero or less: as fast as it goes."""

    save_rollouts: ConfigPath | None = None
    """Save the counted episodes as a native dataset here."""

    reward: RewardSlot | None = None
    """A reward in place of the environment's, whose own return is always reported beside it."""

    explore: PolicyWrapperSlot | None = None
    """A wrapper of level `policy` that takes other actions now and then, e.g. ``{name: switching, ...}``."""

    wrappers: tuple[EvaluationWrapperSlot, ...] = ()
    """Wrappers for the evaluation alone, outside of those of `env`; the first one innermost."""

    @field_validator("render")
    @classmethod
    def _renderer_is_installed(cls, render: bool) -> bool:
        if render:
            _insist_on(RENDER, "venv", "drawing")
        return render

    @field_validator("videos", mode="before")
    @classmethod
    def _recorder_is_installed(cls, videos: object) -> object:
        implied = not (isinstance(videos, Mapping) and "name" in videos) and not isinstance(videos, Choice)
        if _film(videos) is not None and implied:
            _insist_on(VIDEO, "env", "filming")
        return videos

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.n_episodes is None and self.n_timesteps is None:
            raise ValueError("an evaluation needs an end: give n_episodes, n_timesteps or both, both are null")
        return self


def _insist_on(name: str, level: str, deed: str) -> None:
    """Say what to install when no plugin offers the wrapper that an option stands for."""
    try:
        component = registry().find("wrapper", name)
    except MimeticError as error:
        advice = "The distribution 'mimetic' ships it: look at `mimetic plugins`, or `pip install mimetic`"
        text = f"{deed} needs the wrapper {name!r}, which no plugin offers. {advice}. ({error})"
        raise PydanticCustomError("component", "{text}", {"text": text, "cause": error}) from None
    if getattr(component.entry, "level", None) != level:
        text = f"{deed} needs the wrapper {name!r} of level {level!r}, seen {component}"
        raise PydanticCustomError("component", "{text}", {"text": text})


class RunConfig(ComponentConfig):
    """A whole run: demonstrations, policy, algorithm, losses, evaluation, loggers."""

    name: Annotated[str, AfterValidator(_run_name)] = "run"
    """What the run is called; in a file the default is the file's name."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Every random stream of the run is derived from it."""

    device: str = Field(default="auto", pattern=_DEVICE)
    """``auto`` (a GPU when there is one), ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""

    threads: int = Field(default=1, ge=1)
    """torch's threads. Two change the last bits, and are slower for small networks."""

    plugins: Requirements = ()
    """Distributions that must be installed, e.g. ``acme-mimetic>=1.2``; checked before anything else."""

    env: EnvConfig | None = None
    """The environment. It may be left out when the demonstrations state their spaces and nothing is evaluated."""

    demonstrations: Annotated[tuple[DataSourceSlot, ...], BeforeValidator(_several), Field(min_length=1)]
    """Where the demonstrations come from: one source, or several, which are joined when their spaces agree."""

    policy: TrainedPolicySlot = Field(default=cast(Any, "mlp"), validate_default=True)
    """The policy that is trained."""

    algorithm: AlgorithmSlot
    """The way of learning."""

    losses: tuple[LossSlot, ...] = Field(
        default=cast(
            Any, [{"name": "nll", "weight": 1.0}, {"name": "entropy", "weight": 1e-3}, {"name": "l2", "weight": 0.0}]
        ),
        validate_default=True,
        min_length=1,
    )
    """The objective: a weighted sum of loss terms. A list here replaces the default as a whole."""

    evaluation: EvaluationConfig | None = None
    """How the policy is evaluated; null: not at all."""

    loggers: tuple[LoggerSlot, ...] = Field(default=cast(Any, ["stdout", "csv", "jsonl"]), validate_default=True)
    """Where the records of the training go."""

    @model_validator(mode="wrap")
    @classmethod
    def _sections_fit_together(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        errors = list(_misfits(data))
        try:
            config = handler(data)
        except ValidationError as error:
            errors += [line_error(detail) for detail in error.errors(include_url=False)]
        else:
            errors += _faults_among_terms(config)
            if not errors:
                return config
        raise ValidationError.from_exception_data("run file", errors)


def _misfits(data: object) -> list[InitErrorDetails]:
    """Find what can be told from the bare sections, whatever else is wrong with them."""
    if not isinstance(data, Mapping) or data.get("evaluation") is None or data.get("env") is not None:
        return []
    return [_error("needs_env", "an evaluation needs an environment: add `env: {id: ...}`", ("evaluation",), data)]


def _faults_among_terms(config: RunConfig) -> list[InitErrorDetails]:
    """Find loss terms that share what logs and overrides would call them by, and an objective of weight zero."""
    errors = []
    first: dict[str, int] = {}
    for index, term in enumerate(config.losses):
        if term.id in first:
            text = f"losses[{first[term.id]}] is called {term.id!r} too: give one of them an `id`"
            errors.append(_error("namesake", text, ("losses", index), term.id))
        first.setdefault(term.id, index)
    if not any(term.weight for term in config.losses):
        errors.append(_error("no_weight", "every weight is zero, so there is nothing to minimise", ("losses",), None))
    return errors


def _error(kind: Any, text: str, loc: tuple[str | int, ...], value: object) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError(kind, "{text}", {"text": text}), loc=loc, input=value)
