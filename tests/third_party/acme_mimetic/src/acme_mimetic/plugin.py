"""What Acme offers: one component of every kind."""

from collections.abc import Iterator

from mimetic import (
    AlgorithmEntry,
    CommandEntry,
    DataSourceEntry,
    LoggerEntry,
    LossEntry,
    PolicyEntry,
    RewardEntry,
    WrapperEntry,
    hookimpl,
)

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_algorithms() -> Iterator[AlgorithmEntry]:
    """Offer full-batch cloning."""
    yield AlgorithmEntry(
        name="acme.full-batch",
        config="acme_mimetic.config:FullBatchConfig",
        factory="acme_mimetic.algorithm:build",
        summary="Clone with one step over all demonstrations at a time",
        requires=("torch",),
    )


@hookimpl
def mimetic_policies() -> Iterator[PolicyEntry]:
    """Offer a linear policy."""
    yield PolicyEntry(
        name="acme.linear",
        config="acme_mimetic.config:LinearConfig",
        factory="acme_mimetic.policy:build",
        summary="A linear actor-critic",
        requires=("torch",),
    )


@hookimpl
def mimetic_losses() -> Iterator[LossEntry]:
    """Offer a focal loss."""
    yield LossEntry(
        name="acme.focal",
        config="acme_mimetic.config:FocalConfig",
        factory="acme_mimetic.losses:build",
        summary="Cross-entropy that looks harder at what is still wrong",
        requires=("torch",),
    )


@hookimpl
def mimetic_data_sources() -> Iterator[DataSourceEntry]:
    """Offer demonstrations from CSV files."""
    yield DataSourceEntry(
        name="acme.csv",
        config="acme_mimetic.config:CsvConfig",
        factory="acme_mimetic.source:build",
        summary="One CSV file: an episode number, observations and one action in each row",
    )


@hookimpl
def mimetic_wrappers() -> Iterator[WrapperEntry]:
    """Offer a wrapper that scales observations."""
    yield WrapperEntry(
        name="acme.scale",
        level="env",
        config="acme_mimetic.config:ScaleConfig",
        factory="acme_mimetic.wrapper:build",
        summary="Multiply observations by a factor",
    )


@hookimpl
def mimetic_loggers() -> Iterator[LoggerEntry]:
    """Offer a logger that writes one line a record."""
    yield LoggerEntry(
        name="acme.lines",
        config="acme_mimetic.config:LinesConfig",
        factory="acme_mimetic.logger:build",
        summary="One line of text a record",
    )


@hookimpl
def mimetic_rewards() -> Iterator[RewardEntry]:
    """Offer a reward for standing near the middle."""
    yield RewardEntry(
        name="acme.centred",
        config="acme_mimetic.config:CentredConfig",
        factory="acme_mimetic.reward:build",
        summary="One minus the distance of the first observation from the middle",
    )


@hookimpl
def mimetic_commands() -> Iterator[CommandEntry]:
    """Offer a command."""
    yield CommandEntry(name="acme-hello", factory="acme_mimetic.command:run", summary="Greet from Acme")
