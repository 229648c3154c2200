"""Are the numbers that a caller gives usable? Each refusal names the parameter."""

import operator

from mimetic.errors import ConfigError, Fault


def check_count(name: str, value: object, *, least: int = 1) -> int:
    """Return a whole number of at least ``least``.

    Raises:
        ConfigError: it is none.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what it refuses is the point
    except TypeError:
        raise ConfigError(Fault(f"expected a whole number of at least {least}, seen {value!r}", name)) from None
    if isinstance(value, bool) or number < least:
        raise ConfigError(Fault(f"expected a whole number of at least {least}, seen {value!r}", name))
    return number


def check_duration(n_epochs: object, n_batches: object) -> None:
    """Insist on exactly one of the two, zero or more.

    Raises:
        ConfigError: names the parameter.
    """
    if (n_epochs is None) == (n_batches is None):
        raise ConfigError(
            f"exactly one of n_epochs and n_batches is expected, seen n_epochs={n_epochs}, n_batches={n_batches}"
        )
    name, value = ("n_epochs", n_epochs) if n_batches is None else ("n_batches", n_batches)
    check_count(name, value, least=0)


def check_batch_sizes(batch_size: object, minibatch_size: object) -> tuple[int, int]:
    """Return both; a minibatch of None or 0 is a whole batch.

    Raises:
        ConfigError: one is no count, or the minibatch is no factor of the batch.
    """
    whole = check_count("batch_size", batch_size)
    part = whole if minibatch_size is None else check_count("minibatch_size", minibatch_size, least=0) or whole
    if whole % part:
        raise ConfigError(Fault(f"{part} is no factor of batch_size {whole}", "minibatch_size"))
    return whole, part
