"""The input of an actor that is called for each page."""

from __future__ import annotations

from pydantic import BaseModel

from agentic.core.actors import Actor
from agentic.core.pipeline.spec.spec import Config
from agentic.core.records import unchecked


class RepeatedInput:
    """An actor's input: one part changes from call to call, and the rest is checked once.

    Args:
        actor: Its class.
        config: The constant part; references replaced.
        name: Name of the part that changes.
        value: The value of that part in the first call.

    Attributes:
        actor: As given.

    Raises:
        ValidationError: It does not fit the actor's input.
    """

    def __init__(self, actor: type[Actor], config: Config, name: str, value: object) -> None:
        self.actor = actor
        self._name = name
        self._model = actor.Input
        self._first: BaseModel = self._model.model_validate({**config, name: value})
        names = {field.alias or name: name for name, field in self._model.model_fields.items()}
        self._kept = {key: getattr(self._first, names.get(key, key)) for key in config}
        self._plain = _plain_model(self._model, name)

    def of(self, value: object) -> BaseModel:
        """Return the whole input.

        Raises:
            ValidationError: ``value`` does not fit.
        """
        if type(value) is self._plain:
            return unchecked(
                self._model, {**self._first.__dict__, self._name: value}, self._first.model_fields_set
            )
        return self._model.model_validate({**self._kept, self._name: value})


def _plain_model(model: type[BaseModel], name: str) -> type[object] | None:
    """Return the class whose objects fit the field as they are, and need no further check."""
    field = model.model_fields.get(name)
    if name in getattr(model, "unchecked_fields", ()) and field is not None and not field.metadata:
        return field.annotation if isinstance(field.annotation, type) else None
    own = model.__pydantic_decorators__
    has_checks = own.field_validators or own.model_validators or own.validators
    has_more = model.__private_attributes__ or model.model_config.get("extra") == "allow"
    if field is None or field.metadata or has_checks or has_more:
        return None
    wanted = field.annotation
    return wanted if isinstance(wanted, type) and issubclass(wanted, BaseModel) else None
