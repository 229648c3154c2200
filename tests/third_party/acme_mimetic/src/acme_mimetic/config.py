"""What can be set on Acme's components."""

from pydantic import PositiveFloat, PositiveInt

from mimetic.config import ComponentConfig, ConfigPath


class FullBatchConfig(ComponentConfig):
    """Settings of `acme.full-batch`."""

    n_steps: PositiveInt = 100
    """Gradient steps."""
    lr: PositiveFloat = 1e-2
    """Step size of Adam."""


class LinearConfig(ComponentConfig):
    """Settings of `acme.linear`."""

    ortho_init: bool = True
    """Draw orthogonal weights at the start."""


class FocalConfig(ComponentConfig):
    """Settings of `acme.focal`."""

    gamma: float = 2.0
    """How much less an action counts the likelier it already is."""


class CsvConfig(ComponentConfig):
    """Settings of `acme.csv`."""

    path: ConfigPath
    """The file."""


class ScaleConfig(ComponentConfig):
    """Settings of `acme.scale`."""

    factor: float = 1.0
    """What observations are multiplied by."""


class LinesConfig(ComponentConfig):
    """Settings of `acme.lines`."""

    filename: str = "acme.txt"
    """The file's name in the run's folder."""


class CentredConfig(ComponentConfig):
    """Settings of `acme.centred`."""

    width: PositiveFloat = 1.0
    """The distance that costs the whole reward."""
