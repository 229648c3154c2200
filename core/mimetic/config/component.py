"""What a component's settings are: a frozen pydantic model that refuses what it does not know."""

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, ValidationInfo, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema
from pydantic_core.core_schema import ErrorType

from mimetic.config.docstrings import field_docstrings
from mimetic.config.document import CommandLineText
from mimetic.config.strictness import strict_scalars
from mimetic.errors import MimeticDeprecationWarning, suggestion
from mimetic.plugins.wording import seen


class ComponentConfig(BaseModel):
    """The base of every component's settings, and of every section of a run file.

    The text under a field is its documentation. Numbers are numbers: neither ``"32"`` nor ``true`` is one, while
    ``1e5`` is a whole one. NaN and infinity are refused.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="constants",  # among free values infinity stays what it is
        protected_namespaces=(),
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """Document every field by the text under it, and make numbers and switches strict about text."""
        for name, text in field_docstrings(cls).items():
            field = cls.model_fields.get(name)
            if field is not None and field.description is None:
                field.description = text
        schema: CoreSchema = strict_scalars(handler(source), cls)
        return schema

    @model_validator(mode="wrap")
    @classmethod
    def _name_the_known_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            made = handler(data)
        except ValidationError as error:
            raise with_known_keys(error, cls) from None
        _warn_of_deprecated_keys(made)
        return made


def _warn_of_deprecated_keys(made: BaseModel) -> None:
    """Say what to write instead of keys that were given and will go: ``Field(deprecated="write ... instead")``."""
    for key in sorted(made.model_fields_set):
        told = type(made).model_fields[key].deprecation_message
        if told is not None:
            warnings.warn(f"the key {key!r} is deprecated: {told}", MimeticDeprecationWarning, stacklevel=2)


def with_known_keys(
    error: ValidationError, model: type[BaseModel], owner: str = "", more_keys: Iterable[str] = ()
) -> ValidationError:
    """Restate what says "extra key" about ``model`` as the nearest key and all its keys; leave the rest."""
    keys = sorted({*more_keys, *(field.alias or name for name, field in model.model_fields.items())})
    return ValidationError.from_exception_data(
        error.title,
        [
            _unknown_key(str(detail["loc"][0]), keys, detail["input"], owner)
            if detail["type"] in ("extra_forbidden", "unknown_key") and len(detail["loc"]) == 1
            else line_error(detail)
            for detail in error.errors(include_url=False)
        ],
    )


def line_error(detail: Mapping[str, Any]) -> InitErrorDetails:
    """Turn what ``ValidationError.errors()`` lists into what a new ValidationError is made of."""
    kind, context = detail["type"], detail.get("ctx")
    known = kind in _STANDARD_ERRORS
    restated = InitErrorDetails(
        type=kind if known else PydanticCustomError(kind, detail["msg"], context),
        loc=detail["loc"],
        input=detail["input"],
    )
    if known and context:
        restated["ctx"] = context
    return restated


def _unknown_key(key: str, keys: list[str], value: object, owner: str) -> InitErrorDetails:
    known = ", ".join(keys) or "none"
    message = f"unknown key{f' for {owner}' if owner else ''}{suggestion(key, keys)} (keys: {known})"
    return InitErrorDetails(
        type=PydanticCustomError("unknown_key", "{text}", {"text": message}), loc=(key,), input=value
    )


_STANDARD_ERRORS = frozenset(get_args(ErrorType))


# --- paths ------------------------------------------------------------------------------------------------------


def _absolute(value: object, info: ValidationInfo) -> Path:
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or not is_text(text):
        raise PydanticCustomError("path_text", "expected a path, seen {text}", {"text": seen(value)})
    try:
        named = Path(str(text)).expanduser()
    except RuntimeError:  # there is no user of that name
        named = Path(str(text))
    base = Path.cwd() if isinstance(value, CommandLineText) else base_dir(info)
    path = (base / named).absolute()
    return path.resolve() if ".." in path.parts else path


def base_dir(info: ValidationInfo) -> Path:
    """Where relative paths start from: the run file's folder, or the working folder outside of a run file."""
    folder = (info.context or {}).get("base_dir")
    return Path(folder) if folder is not None else Path.cwd()


def is_text(text: str) -> bool:
    """Say whether a string can be written to a file: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _PathField:
    """A path that is absolute once validated."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            _absolute, serialization=core_schema.to_string_ser_schema(when_used="json")
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, object]:
        return {"type": "string", "format": "path", "minLength": 1}


ConfigPath = Annotated[Path, _PathField]
"""A path in settings: relative to the run file in one, to the working folder on the command line and in Python."""
