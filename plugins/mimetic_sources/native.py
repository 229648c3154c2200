"""Datasets that mimetic wrote."""

from mimetic.hookspecs import DataSourceContext
from mimetic.storage import load_demonstrations
from mimetic.types import Demonstrations
from mimetic_sources.config import NativeConfig
from mimetic_sources.selection import select


def build(config: NativeConfig, context: DataSourceContext) -> Demonstrations:
    """Map the dataset into memory."""
    data = load_demonstrations(config.path)
    return select(Demonstrations(data, data.observation_space, data.action_space, str(config.path)), config)
