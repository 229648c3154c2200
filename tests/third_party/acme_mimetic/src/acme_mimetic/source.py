"""Demonstrations from a CSV file with the columns ``episode, obs..., act``."""

import numpy as np

from acme_mimetic.config import CsvConfig
from mimetic import DataSourceContext, TransitionsMinimal


def build(config: CsvConfig, context: DataSourceContext) -> TransitionsMinimal:
    """Read pairs of observation and action; the episode column is not needed for cloning."""
    table = np.loadtxt(config.path, delimiter=",", skiprows=1, ndmin=2)
    return TransitionsMinimal(obs=table[:, 1:-1].astype(np.float32), acts=table[:, -1].astype(np.int64))
