"""A validated run as a run file again: every value written out, every path absolute."""

from mimetic.config.document import KeyPath, key_text
from mimetic.config.emit import emit
from mimetic.config.load import RunFile
from mimetic.config.runfile import RunConfig


def dump_run_config(config: RunConfig) -> str:
    """Write a run as YAML that loads again to an equal run, wherever the file then lies."""
    return emit(config.model_dump(mode="json"))


def show_run_file(run: RunFile) -> str:
    """Write a run as YAML, and at the end of each line where its value came from."""

    def origin(path: KeyPath) -> str:
        known = [run.origin[key] for key in run.origin if _is_below(key, key_text(path))]
        return ", ".join(dict.fromkeys(known))

    return emit(run.config.model_dump(mode="json"), beside=origin)


def _is_below(key: str, parent: str) -> bool:
    return key == parent or key.startswith((f"{parent}.", f"{parent}["))
