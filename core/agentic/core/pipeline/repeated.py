"""The input of an actor that is called for one page after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import signature

from pydantic import BaseModel

from agentic.core.actors import Actor
from agentic.core.pipeline.spec import Config


class RepeatedInput:
    """An actor's input of which a part changes from call to call; the rest is checked once.

    Args:
        actor: Its class.
        config: What stays; references replaced.
        given: What changes, for the first call.

    Raises:
        ValidationError: It does not fit the actor's input.
    """

    def __init__(self, actor: type[Actor], config: Config, given: Mapping[str, object]) -> None:
        self._model = actor.Input
        self._first: BaseModel = self._model.model_validate({**config, **given})
        self._names = {field.alias or name: name for name, field in self._model.model_fields.items()}
        self._kept = {key: getattr(self._first, self._names.get(key, key)) for key in config}
        own = self._model.__pydantic_decorators__
        self._last_checks = tuple(own.model_validators)
        has_other_checks = (
            bool(own.field_validators or own.validators)
            or not all(_is_last(check.info.mode, check.func) for check in own.model_validators.values())
            or any(setting.startswith("str_") for setting in self._model.model_config)
        )
        self._plain = {} if has_other_checks else dict(_plain_fields(self._model))

    def of(self, given: Mapping[str, object]) -> BaseModel:
        """Return the whole input.

        Raises:
            ValidationError: ``given`` does not fit.
        """
        for name, value in given.items():
            if self._plain.get(name) is not type(value):
                return self._model.model_validate({**self._kept, **given})
        made = self._first.model_copy(update=dict(given))
        try:
            for name in self._last_checks:
                made = getattr(made, name)()
        except (ValueError, AssertionError):  # pydantic says it as it says everything
            return self._model.model_validate({**self._kept, **given})
        return made


def _plain_fields(model: type[BaseModel]) -> Iterator[tuple[str, type]]:
    """Give the fields for which a value of just their class is right as it is: texts and other models."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and not field.metadata and (kind is str or issubclass(kind, BaseModel)):
            yield name, kind


def _is_last(mode: str, check: Callable[..., object]) -> bool:
    """Whether a check of a model looks at the whole one, and asks for nothing else."""
    return mode == "after" and len(signature(check).parameters) == 1
