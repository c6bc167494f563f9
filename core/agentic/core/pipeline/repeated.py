"""The input of an actor that is called for one page after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
        has_checks = own.field_validators or own.model_validators or own.validators
        # A value that is a model, of just the class that is asked for, has nothing left to be checked.
        self._models = {} if has_checks else dict(_plain_models(self._model))

    def of(self, given: Mapping[str, object]) -> BaseModel:
        """Return the whole input.

        Raises:
            ValidationError: ``given`` does not fit.
        """
        if all(type(value) is self._models.get(name) for name, value in given.items()):
            return self._first.model_copy(update=given)
        return self._model.model_validate({**self._kept, **given})


def _plain_models(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        wanted = field.annotation
        if not field.metadata and isinstance(wanted, type) and issubclass(wanted, BaseModel):
            yield name, wanted
