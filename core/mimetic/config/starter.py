"""A first run file, with every key that can be set and what it means."""

import inspect

from pydantic import BaseModel

from mimetic.config.document import KeyPath
from mimetic.config.emit import emit
from mimetic.config.fields import slot_at
from mimetic.config.load import run_config
from mimetic.config.runfile import RunConfig
from mimetic.config.slots import Choice, ComponentSlot, LossChoice, LossKeys, components_of

_FIRST_RUN = {
    "env": {"id": "CartPole-v1"},
    "demonstrations": ["demo"],
    "algorithm": {"name": "bc", "n_epochs": 20},
    "evaluation": {"n_episodes": 20},
}

_HEAD = """\
# A run file: `mimetic train FILE` does what it says. Every key is here, with its default unless a choice was made.
# `mimetic config check FILE` checks it, `mimetic train FILE policy.net_arch=[64,64]` changes a value for one run.
# Paths are relative to this file. Components come from plugins: `mimetic plugins` lists what is installed.
"""


def starter_run_file(name: str = "first") -> str:
    """Return a commented run file of this name that loads.

    Raises:
        ConfigError: a component that it stands on is not installed.
    """
    config = run_config({"name": name, **_FIRST_RUN})
    return _HEAD + emit(config.model_dump(mode="json"), above=lambda path: _explanation(config, path))


def _explanation(config: RunConfig, path: KeyPath) -> str:
    """Say what a key means: the text under its field, and at a component's place what could stand there."""
    if any(part != 0 for part in path if isinstance(part, int)):
        return ""  # a list's first item explains the others
    owner: object = config
    for part in path[:-1]:
        owner = _part(owner, part)
    slot = slot_at(path) or slot_at((*path, 0))
    text = "\n".join(filter(None, (_documentation(owner, str(path[-1])), _offered(slot) if slot else "")))
    return f"\n{text}" if len(path) == 1 and text else text


def _part(owner: object, part: str | int) -> object:
    """Follow one key; a component's settings lie behind its choice."""
    if isinstance(owner, Choice):
        owner = owner.config
    if isinstance(owner, tuple) and isinstance(part, int):
        return owner[part]
    return owner.get(part) if isinstance(owner, dict) else getattr(owner, str(part), None)


def _documentation(owner: object, key: str) -> str:
    if isinstance(owner, LossChoice) and key in LossKeys.model_fields:
        model: object = LossKeys
    else:
        model = type(owner.config if isinstance(owner, Choice) else owner)
    field = model.model_fields.get(key) if isinstance(model, type) and issubclass(model, BaseModel) else None
    return inspect.cleandoc(field.description or "").replace("``", "`") if field else ""


def _offered(slot: ComponentSlot) -> str:
    names = [component.name for component in components_of(slot) if not slot.implied]
    return (
        f"Offered: {', '.join(names)}. `mimetic plugins show {slot.kind}:NAME` prints what can be set." if names else ""
    )
