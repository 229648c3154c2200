"""A handful of components that exist as settings only: what run files are tested against, whatever is installed."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mimetic.config import ComponentConfig, ConfigPath, PolicySlot
from mimetic.hookspecs import (
    AlgorithmEntry,
    ComponentEntry,
    DataSourceEntry,
    LoggerEntry,
    LossEntry,
    PolicyEntry,
    RewardEntry,
    WrapperEntry,
    hookimpl,
)
from mimetic.plugins import Registry
from mimetic.testing import manager_with


class Nothing(ComponentConfig):
    """Settings of a component that has none."""


class Mlp(ComponentConfig):
    net_arch: tuple[int, ...] = (32, 32)
    """Widths of the hidden layers."""

    activation: Literal["tanh", "relu"] = "tanh"
    """What follows each hidden layer."""

    normalize_obs: bool = False
    """Normalise observations by their running statistics."""


class Cnn(ComponentConfig):
    channels: tuple[int, ...] = (32, 64)
    features: int | None = None


class Wrapped(ComponentConfig):
    inner: PolicySlot


class Optimizer(ComponentConfig):
    name: Literal["adam", "sgd"] = "adam"
    lr: float = Field(default=1e-3, gt=0)


class Bc(ComponentConfig):
    n_epochs: int | None = None
    n_batches: int | None = None
    batch_size: Annotated[int, Field(ge=1)] = 32
    optimizer: Optimizer = Optimizer()
    optimizer_kwargs: dict[str, object] = Field(default_factory=dict)
    steps: int | str = 1

    @model_validator(mode="after")
    def _one_duration(self) -> Self:
        if (self.n_epochs is None) == (self.n_batches is None):
            raise ValueError(f"exactly one of n_epochs and n_batches, seen {self.n_epochs} and {self.n_batches}")
        return self


class Huber(ComponentConfig):
    delta: float = Field(default=1.0, gt=0)


class FileSource(ComponentConfig):
    path: ConfigPath
    """Where the demonstrations lie."""

    n_trajectories: int | None = Field(default=None, ge=1)


class Video(ComponentConfig):
    mode: Literal["one", "episodes"] = "one"
    format: Literal["mp4", "gif"] = "mp4"


class Switching(ComponentConfig):
    random_prob: float = Field(ge=0, le=1)
    switch_prob: float = Field(ge=0, le=1)


class Clip(ComponentConfig):
    low: float = -1.0


class CsvConfig(ComponentConfig):
    flush: bool = True


def entries() -> list[ComponentEntry]:
    """Return one entry a component, named as those in the box are."""
    return [
        PolicyEntry(name="mlp", config=_config(Mlp), factory="nowhere:build", summary="Feed-forward"),
        PolicyEntry(name="cnn", config=_config(Cnn), factory="nowhere:build", summary="Convolutions"),
        PolicyEntry(name="wrapped", config=_config(Wrapped), factory="nowhere:build", summary="A policy in it"),
        PolicyEntry(name="random", config=_config(Nothing), factory="nowhere:build", summary="Draws", trainable=False),
        PolicyEntry(
            name="file", config=_config(FileSource), factory="nowhere:build", summary="Saved", suffixes=(".zip",)
        ),
        AlgorithmEntry(name="bc", config=_config(Bc), factory="nowhere:build", summary="Behavioural cloning"),
        *(
            LossEntry(name=name, config=_config(model), factory="nowhere:build", summary=name)
            for name, model in {
                "nll": Nothing,
                "entropy": Nothing,
                "l2": Nothing,
                "huber": Huber,
                "acme.huber": Huber,
            }.items()
        ),
        DataSourceEntry(
            name="npz", config=_config(FileSource), factory="nowhere:build", summary="Columns", suffixes=(".npz",)
        ),
        DataSourceEntry(name="demo", config=_config(Nothing), factory="nowhere:build", summary="Shipped"),
        WrapperEntry(name="video", level="env", config=_config(Video), factory="nowhere:build", summary="Films"),
        WrapperEntry(name="clip", level="env", config=_config(Clip), factory="nowhere:build", summary="Clips"),
        WrapperEntry(name="render", level="venv", config=_config(Nothing), factory="nowhere:build", summary="Draws"),
        WrapperEntry(
            name="switching", level="policy", config=_config(Switching), factory="nowhere:build", summary="Explores"
        ),
        *(
            LoggerEntry(name=name, config=_config(model), factory="nowhere:build", summary=name)
            for name, model in {"stdout": Nothing, "csv": CsvConfig, "jsonl": Nothing}.items()
        ),
        RewardEntry(name="zero", config=_config(Nothing), factory="nowhere:build", summary="No reward"),
    ]


class Acme:
    """A second plugin, with a policy or a loss term of its own."""

    def __init__(self, entry: PolicyEntry | LossEntry) -> None:
        self._entry = entry

    @hookimpl
    def mimetic_policies(self) -> list[PolicyEntry]:
        return [self._entry] if isinstance(self._entry, PolicyEntry) else []

    @hookimpl
    def mimetic_losses(self) -> list[LossEntry]:
        return [self._entry] if isinstance(self._entry, LossEntry) else []


def small_registry(*, without: str = "", acme: PolicyEntry | LossEntry | None = None) -> Registry:
    """Return a registry of these components; without one of them, or with one of a second plugin."""
    offered = [entry for entry in entries() if entry.name != without]
    return manager_with(*offered, acme=Acme(acme)) if acme else manager_with(*offered)


def _config(model: type[object]) -> str:
    return f"{model.__module__}:{model.__qualname__}"
