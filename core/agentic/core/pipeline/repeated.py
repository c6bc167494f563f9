"""The input of an actor that is called for one page after the other."""

from __future__ import annotations

from collections.abc import Mapping

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
        self._has_checks = bool(own.field_validators or own.model_validators or own.validators)

    def of(self, given: Mapping[str, object]) -> BaseModel:
        """Return the whole input.

        Raises:
            ValidationError: ``given`` does not fit.
        """
        if not self._has_checks and all(self._is_checked(name, value) for name, value in given.items()):
            return self._first.model_copy(update=dict(given))
        return self._model.model_validate({**self._kept, **given})

    def _is_checked(self, name: str, value: object) -> bool:
        """Whether a value is a model, of just the class that is asked for: there is nothing left to check."""
        field = self._model.model_fields.get(name)
        if field is None or field.metadata or not isinstance(field.annotation, type):
            return False
        return issubclass(field.annotation, BaseModel) and type(value) is field.annotation
