"""The shipped demonstrations."""

from importlib.resources import as_file, files

from mimetic.hookspecs import DataSourceContext
from mimetic.storage import load_demonstrations
from mimetic.types import Demonstrations
from mimetic_sources.config import DemoConfig
from mimetic_sources.selection import select


def build(config: DemoConfig, context: DataSourceContext) -> Demonstrations:
    """Map the file into memory that lies beside this module."""
    with as_file(files("mimetic_sources.demo") / "cartpole.safetensors") as path:
        data = load_demonstrations(path)
    return select(Demonstrations(data, data.observation_space, data.action_space, "demo (CartPole-v1)"), config)
