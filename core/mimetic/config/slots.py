"""A slot is a place in a run file where a component stands: a name, or a name with its settings.

One validator serves every slot. It looks the name up among the installed plugins, imports only that component's
settings model and lets the model's errors through, so that pydantic reports every fault of a file at once, each
under its own key.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, GetCoreSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from mimetic.config.component import ComponentConfig, line_error, with_known_keys
from mimetic.errors import ConfigError, MimeticError
from mimetic.hookspecs import Kind
from mimetic.plugins import Component, registry
from mimetic.plugins.wording import seen

Level = Literal["env", "venv", "policy"]


# --- what a slot holds ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A component that was chosen, with its settings."""

    kind: Kind
    name: str
    config: ComponentConfig

    def build(self, context: object) -> Any:
        """Build the component through the installed plugins."""
        return registry().build(self.kind, self.name, self.config, context)

    def as_dict(self) -> dict[str, Any]:
        """Return ``{"name": ..., **settings}`` as plain data."""
        return {"name": self.name, **self.config.model_dump(mode="json")}


class WeightSchedule(ComponentConfig):
    """A weight that changes from the first step of a training to its last."""

    schedule: Literal["linear", "cosine"]
    """How the weight goes from ``start`` to ``end``."""

    start: float
    """The weight at the first step."""

    end: float = 0.0
    """The weight at the last step."""


@dataclass(frozen=True)
class LossChoice(Choice):
    """A loss term with its weight in the objective."""

    weight: float | WeightSchedule
    id: str  # what logs and overrides call it; the name unless two terms share one

    def as_dict(self) -> dict[str, Any]:
        """Return ``{"name": ..., "weight": ..., **settings}`` as plain data, with the id where it says more."""
        weight = self.weight.model_dump(mode="json") if isinstance(self.weight, WeightSchedule) else self.weight
        own = {"name": self.name} | ({"id": self.id} if self.id != self.name else {}) | {"weight": weight}
        return {**own, **self.config.model_dump(mode="json")}


def _number_or_schedule(value: object, info: ValidationInfo) -> float | WeightSchedule:
    if isinstance(value, Mapping):
        return WeightSchedule.model_validate(value, context=info.context)
    if isinstance(value, WeightSchedule):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    text = f"expected a finite number or {{schedule, start, end}}, seen {seen(value)}"
    raise PydanticCustomError("weight_type", "{text}", {"text": text})


class LossKeys(ComponentConfig):
    """What a loss term's place in a run file says beside the term's own settings."""

    weight: Annotated[float | WeightSchedule, BeforeValidator(_number_or_schedule)] = 1.0
    """The factor of this term in the objective, or ``{schedule: linear, start: 1e-2, end: 0}``."""

    id: str | None = None
    """A name of its own in logs and overrides; needed when two terms have one name."""


# --- the validator ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComponentSlot:
    """The kind of component that may stand here; the annotation that makes a field a slot."""

    kind: Kind
    levels: tuple[Level, ...] = ()  # of a wrapper; empty: any
    trainable: bool = False  # only policies that can be trained
    keys: type[LossKeys] | None = None  # what the slot itself takes beside the component's settings
    implied: str = ""  # the only component that is meant, when no name is given: videos are made by "video"
    shorthand: str = "name"  # the key that a bare string gives a value to

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by :meth:`choose`, write as plain data."""
        serialise = core_schema.plain_serializer_function_ser_schema(_plain)
        return core_schema.with_info_plain_validator_function(self.choose, serialization=serialise)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """Leave a mark that :func:`mimetic.config.json_schema` replaces."""
        return {"x-mimetic-slot": self}

    def choose(self, value: object, info: ValidationInfo) -> Choice:
        """Turn ``mlp`` or ``{name: mlp, ...}`` into the component that is meant, with its settings validated."""
        if isinstance(value, Choice):
            return self._checked(value)
        options, named = self._options(value)
        component = self._component(options.pop("name"), named)
        own = {key: options.pop(key) for key in list(options) if self.keys and key in self.keys.model_fields}
        errors: list[InitErrorDetails] = []
        config = self._validate(_model_of(component, named), options, info, errors, _owner(component))
        keys = self._validate(self.keys, own, info, errors) if self.keys else None
        if errors:
            raise ValidationError.from_exception_data(_owner(component), errors)
        assert isinstance(config, ComponentConfig)
        if isinstance(keys, LossKeys):
            return LossChoice(self.kind, component.name, config, keys.weight, keys.id or component.name)
        return Choice(self.kind, component.name, config)

    def _checked(self, choice: Choice) -> Choice:
        """Let a choice that was made in Python stand, when it is of the right kind."""
        if choice.kind != self.kind:
            _refuse("choice_kind", f"expected a {self.kind}, seen the {choice.kind} {choice.name!r}")
        self._component(choice.name, ())
        if self.keys and not isinstance(choice, LossChoice):
            return LossChoice(choice.kind, choice.name, choice.config, 1.0, choice.name)
        return choice

    def _options(self, value: object) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return a slot's keys, ``name`` among them, and where under the slot the name was written."""
        if isinstance(value, str):
            options: dict[str, Any] = {self.shorthand: str(value)}
            return {"name": self.implied, **options}, ()
        if not isinstance(value, Mapping):
            example = f"`{self.shorthand}` or `{{{self.shorthand}: ..., key: value}}`"
            _refuse("slot_type", f"expected {_a(self.implied or self.kind)} as {example}, seen {seen(value)}")
        options = dict(value)
        if "name" not in options and self.implied:
            return {"name": self.implied, **options}, ()
        if not isinstance(options.get("name"), str) or not options["name"]:
            where = ("name",) if "name" in options else ()
            said = (
                f"expected the name of {_a(self.kind)}, seen {seen(options['name'])}" if where else "`name` is missing"
            )
            _refuse("slot_name", f"{said} (known: {self._known()})", where)
        return options, ("name",)

    def _component(self, name: str, where: tuple[str, ...]) -> Component:
        try:
            component = registry().find(self.kind, str(name))
        except MimeticError as error:
            _refuse("component", _message(error), where, error)
        level = getattr(component.entry, "level", None)
        if self.levels and level not in self.levels:
            wanted = " or ".join(f"{level!r}" for level in self.levels)
            around = _WRAPPED[level or "env"]
            said = f"the wrapper {name!r} goes around {around}, here one of level {wanted} is needed"
            _refuse("wrapper_level", f"{said} (known: {self._known()})", where)
        if self.trainable and not getattr(component.entry, "trainable", True):
            _refuse("not_trainable", f"the policy {name!r} has nothing to train (trainable: {self._known()})", where)
        return component

    def _known(self) -> str:
        return ", ".join(sorted(component.name for component in components_of(self))) or "none"

    def _validate(
        self,
        model: type[BaseModel],
        options: Mapping[str, Any],
        info: ValidationInfo,
        errors: list[InitErrorDetails],
        owner: str = "",
    ) -> BaseModel | None:
        try:
            return model.model_validate(options, context=info.context)
        except ValidationError as error:
            more = self.keys.model_fields if self.keys else ()
            restated = with_known_keys(error, model, owner, more)
            errors += [line_error(detail) for detail in restated.errors(include_url=False)]
            return None


def _model_of(component: Component, where: tuple[str, ...]) -> type[BaseModel]:
    try:
        return registry().config_model(component)
    except MimeticError as error:
        _refuse("component", _message(error), where, error)


def _message(error: MimeticError) -> str:
    """Return what an error says, without the place that a lone fault stands for."""
    return error.faults[0].message if isinstance(error, ConfigError) and len(error.faults) == 1 else str(error)


def components_of(slot: ComponentSlot) -> list[Component]:
    """Return the usable components that may stand in a slot."""
    return [
        component
        for component in registry().components(slot.kind)
        if (not slot.levels or getattr(component.entry, "level", None) in slot.levels)
        and (not slot.trainable or getattr(component.entry, "trainable", True))
    ]


def _refuse(kind: Any, text: str, where: tuple[str, ...] = (), cause: MimeticError | None = None) -> NoReturn:
    """Raise a fault of the slot itself, or of a key in it."""
    error = PydanticCustomError(kind, "{text}", {"text": text, "cause": cause})
    raise ValidationError.from_exception_data("slot", [InitErrorDetails(type=error, loc=where, input=None)])


def _plain(choice: Choice) -> dict[str, Any] | str:
    """Write a choice as one would: its name alone when there is nothing to set."""
    data = choice.as_dict()
    return choice.name if data.keys() == {"name"} else data


def _owner(component: Component) -> str:
    return f"{component.kind} {component.name!r}"


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


_WRAPPED = {"env": "one environment", "venv": "all environments together", "policy": "a policy"}


# --- the kinds of slots -----------------------------------------------------------------------------------------

PolicySlot = Annotated[Choice, ComponentSlot("policy")]
AlgorithmSlot = Annotated[Choice, ComponentSlot("algorithm")]
LossSlot = Annotated[LossChoice, ComponentSlot("loss", keys=LossKeys)]
DataSourceSlot = Annotated[Choice, ComponentSlot("data-source")]
EnvWrapperSlot = Annotated[Choice, ComponentSlot("wrapper", levels=("env",))]
VenvWrapperSlot = Annotated[Choice, ComponentSlot("wrapper", levels=("venv",))]
PolicyWrapperSlot = Annotated[Choice, ComponentSlot("wrapper", levels=("policy",))]
LoggerSlot = Annotated[Choice, ComponentSlot("logger")]
RewardSlot = Annotated[Choice, ComponentSlot("reward")]
