"""Numbers are numbers: text and switches are refused where pydantic would read them as one."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticKnownError, core_schema
from pydantic_core.core_schema import ErrorType


def strict_scalars(schema: Any, model: type[BaseModel]) -> Any:
    """Walk a core schema up to nested models, which did this for themselves."""
    if isinstance(schema, list):
        return [strict_scalars(item, model) for item in schema]
    if not isinstance(schema, dict):
        return schema
    match schema.get("type"):
        case "int":
            return core_schema.no_info_before_validator_function(_no_text("int_type"), schema)
        case "float":
            return core_schema.no_info_before_validator_function(_no_text("float_type"), schema)
        case "bool":
            return {**schema, "strict": True}
        case "model" if schema["cls"] is not model:
            return schema
    return {key: value if key in _NO_SCHEMAS else strict_scalars(value, model) for key, value in schema.items()}


_NO_SCHEMAS = frozenset(
    {"metadata", "default", "default_factory", "function", "cls", "config", "expected", "serialization", "keys_schema"}
)


def _no_text(error: ErrorType) -> Callable[[object], object]:
    def check(value: object) -> object:
        if isinstance(value, bool | str | bytes):
            raise PydanticKnownError(error)
        return value

    return check
