"""Actors of one's own: functions in a Python file, named ``./shop.py:clean``."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import ModuleType, NoneType, UnionType
from typing import Any, ClassVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import to_jsonable_python

from agentic.core.actors.actor import Actor
from agentic.core.actors.context import ActorContext
from agentic.core.actors.errors import ActorError
from agentic.core.actors.pages import ItemOutput, ItemsOutput, LinksOutput, PageOutput
from agentic.core.errors import AgenticError
from agentic.core.hooks.offers import OWN_CODE
from agentic.core.types import JSONValue

_OUTPUTS = (ItemOutput, ItemsOutput, LinksOutput, PageOutput)
_LISTS = frozenset({list, tuple, Sequence, Iterator, set})
_lock = RLock()


class OwnCodeError(AgenticError, ValueError):
    """A function of one's own cannot be used as an actor."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A file as it was loaded: again only if it has changed."""

    module: ModuleType
    digest: str


_files: dict[Path, _Loaded] = {}
_actors: dict[tuple[Path, str, str], type[Actor]] = {}
_named: set[Path] = set()
"""Files that a pipeline file read by this process names."""


def own_name(name: str, folder: Path, *, is_trusted: bool) -> str:
    """Return the name that other processes find the function by.

    It is relative to the folder of ``AGENTIC_MODULE_PATH`` that contains the file; absolute if none does.

    Args:
        name: As a pipeline file has it.
        folder: Folder of the pipeline file.
        is_trusted: Allow this process to load the file: its user has named the pipeline file.
    """
    file, function = _parts(name)
    return f"{own_file(file, folder, is_trusted=is_trusted)}:{function}"


def own_file(file: str, folder: Path, *, is_trusted: bool) -> str:
    """Return the path that other processes find a file by; see :func:`own_name`."""
    path = (folder / file).resolve()
    if is_trusted:
        _named.add(path)
    for root in _roots():
        if _is_within(path, root):
            return f"./{path.relative_to(root).as_posix()}"
    return path.as_posix()


def load_own_code(name: str) -> type[Actor]:
    """Return the actor that calls a function; its version changes with the file.

    Raises:
        OwnCodeError: The file does not exist or may not be loaded here, cannot be imported, or has no such
            function with annotations.
    """
    file, function = _parts(name)
    path = find_own_file(file)
    with _lock:
        loaded = _load(path)
        key = (path, function, loaded.digest)
        if key not in _actors:
            _actors[key] = actor_of(_function(loaded.module, function, path), name, loaded.digest)
        return _actors[key]


def load_own_object(name: str) -> object:
    """Return the object that a file defines under the name after the colon: a function, or a tool.

    Raises:
        OwnCodeError: The file does not exist or may not be loaded here, cannot be imported, or does not
            define it.
    """
    file, attribute = _parts(name)
    path = find_own_file(file)
    with _lock:
        module = _load(path).module
    found = getattr(module, attribute, None)
    return _function(module, attribute, path) if found is None else found


def actor_of(function: Callable[..., Any], name: str, version: str) -> type[Actor]:
    """Return an actor class that calls ``function``.

    Its parameters are the fields of the input, by their annotations and defaults; a parameter annotated
    ``ActorContext`` gets the context. The annotation of its result decides the results of the step:

    - a mapping, model or dataclass is the ``item``; with ``| None``, None leaves the item out;
    - a list of these, or an iterator, is ``items``;
    - any other value is the ``value``; ``None`` gives no result.

    Raises:
        OwnCodeError: A parameter or the result has no usable annotation.
    """
    label = f"{name.rpartition('/')[2]}()"
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as exc:
        raise OwnCodeError(f"{label}: its annotations cannot be read: {exc}") from None
    if "return" not in hints:
        message = f"{label} has no annotation for its result; add -> dict, -> list[dict] or -> None"
        raise OwnCodeError(message)
    given_model, context_name = _input_of(function, hints, label)
    output_model, read = _output_of(hints["return"], label)

    class OwnActor(Actor[BaseModel, BaseModel]):
        __doc__ = inspect.getdoc(function) or f"Calls {label}."
        Input: ClassVar[type[BaseModel]] = given_model
        Output: ClassVar[type[BaseModel]] = output_model

        async def run(self, ctx: ActorContext, given: BaseModel, /) -> BaseModel:
            arguments = {field: getattr(given, field) for field in given_model.model_fields}
            if context_name is not None:
                arguments[context_name] = ctx
            try:
                return read(await _called(function, arguments))
            except ActorError:
                raise
            except Exception as exc:
                raise ActorError(f"{_place(exc, function)}: {_said(exc)}", failure_class="error") from exc

    OwnActor.name, OwnActor.version = name, version
    OwnActor.failure_classes = frozenset({"error"})
    OwnActor.capabilities = frozenset({"network"}) if context_name is not None else frozenset()
    OwnActor.reads = frozenset({"html", "json", "other"})
    OwnActor.has_effect = hints["return"] is NoneType
    OwnActor.__name__ = OwnActor.__qualname__ = function.__name__
    return OwnActor


def _input_of(
    function: Callable[..., Any], hints: Mapping[str, Any], label: str
) -> tuple[type[BaseModel], str | None]:
    """Return the model of the input, and the parameter that gets the context."""
    fields: dict[str, Any] = {}
    context_name = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            message = (
                f"{label}: the parameter {str(parameter)!r} cannot be given by name; use plain parameters"
            )
            raise OwnCodeError(message)
        hint = hints.get(parameter.name, JSONValue)
        if hint is ActorContext:
            context_name = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hint, default)
    try:
        config = ConfigDict(extra="forbid", frozen=True)
        return create_model(f"{function.__name__}_input", __config__=config, **fields), context_name
    except Exception as exc:
        raise OwnCodeError(f"{label}: a parameter has a type that no input can have: {exc}") from None


class _NoOutput(BaseModel):
    """The results of a function that returns nothing."""


Read = Callable[[Any], BaseModel]


def _output_of(hint: Any, label: str) -> tuple[type[BaseModel], Read]:  # noqa: ANN401 - an annotation
    """Return the model of the results, and what makes one of a returned value."""
    origin = get_origin(hint)
    if hint is NoneType:
        return _NoOutput, lambda _: _NoOutput()
    if origin in (Union, UnionType):
        inner = [one for one in get_args(hint) if one is not NoneType]
        if len(inner) == 1 and _is_item(inner[0]):
            return ItemsOutput, lambda found: ItemsOutput(
                items=() if found is None else (_item(found, label),)
            )
    if isinstance(hint, type) and issubclass(hint, _OUTPUTS):
        return hint, lambda found: cast(BaseModel, found)
    if _is_item(hint):
        return ItemOutput, lambda found: ItemOutput(item=_item(found, label))
    bare: Any = origin or hint
    is_list = bare in _LISTS or (isinstance(bare, type) and issubclass(bare, (Iterator, AsyncIterator)))
    elements = get_args(hint)
    if is_list and (not elements or _is_item(elements[0])):
        return ItemsOutput, lambda found: _items(found, label)
    try:
        model = create_model("OwnOutput", value=(hint, ...))
    except Exception as exc:
        raise OwnCodeError(f"{label} returns {hint}, and that cannot be a result: {exc}") from None
    return model, lambda found: model.model_validate({"value": to_jsonable_python(found)})


def _is_item(hint: Any) -> bool:  # noqa: ANN401 - an annotation
    bare = get_origin(hint) or hint
    if not isinstance(bare, type):
        return bare is Mapping
    return (
        issubclass(bare, (BaseModel, Mapping)) or dataclasses.is_dataclass(bare) or is_typeddict(bare)
    ) and not issubclass(bare, _OUTPUTS)


def _item(found: object, label: str) -> dict[str, JSONValue]:
    plain = to_jsonable_python(found)
    if not isinstance(plain, dict):
        raise OwnCodeError(f"{label} returned {type(found).__name__} as an item; return a mapping")
    return cast(dict[str, JSONValue], plain)


def _items(found: Iterable[object], label: str) -> ItemsOutput:
    return ItemsOutput(items=tuple(_item(one, label) for one in found))


async def _called(function: Callable[..., Any], arguments: Mapping[str, object]) -> object:
    if inspect.isasyncgenfunction(function):
        return [one async for one in function(**arguments)]
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    from agentic.core.threads import in_thread  # asyncio: a check of a pipeline runs no function

    if inspect.isgeneratorfunction(function):
        return await in_thread(lambda: list(function(**arguments)))
    return await in_thread(lambda: function(**arguments))


def _parts(name: str) -> tuple[str, str]:
    found = OWN_CODE.fullmatch(name)
    if found is None:
        raise OwnCodeError(f"{name!r} is not a file and a function; write it as ./shop.py:clean")
    return found["file"], found["function"]


def _roots() -> list[Path]:
    # Settings are read when needed: `import agentic.core` need not pay for them.
    from agentic.core.settings import load_settings

    return [Path(folder).resolve() for folder in load_settings().module_path]


def _is_within(path: Path, root: Path) -> bool:
    """Whether a folder of the module path contains a file, and not in a hidden folder.

    Hidden ones hold what others wrote: downloads of a home, installed libraries.
    """
    from agentic.core.settings import load_settings

    if not path.is_relative_to(root) or path.is_relative_to(load_settings().home.resolve()):
        return False
    return not any(part.startswith(".") for part in path.relative_to(root).parts)


def find_own_file(file: str) -> Path:
    """Return a file that this process may use: below ``AGENTIC_MODULE_PATH``, or named by its user.

    Raises:
        OwnCodeError: It does not exist, or may not be used here.
    """
    allowed = _allowed(file)
    if (path := next((path for path in allowed if path.is_file()), None)) is not None:
        return path
    if allowed:
        looked = ", ".join(map(str, allowed))
        raise OwnCodeError(f"{file} does not exist (looked for {looked}); check the path")
    raise _not_allowed(file)


def find_own_folder(folder: str) -> Path:
    """Return a folder that this process may use, by the rule for files; it need not exist.

    Raises:
        OwnCodeError: It may not be used here.
    """
    allowed = _allowed(folder)
    if not allowed:
        raise _not_allowed(folder)
    return next((path for path in allowed if path.is_dir()), allowed[0])


def _allowed(name: str) -> list[Path]:
    roots = _roots()
    paths = [(root / name).resolve() for root in (roots or [Path.cwd()])]
    return [path for path in paths if path in _named or any(_is_within(path, root) for root in roots)]


def _not_allowed(name: str) -> OwnCodeError:
    return OwnCodeError(
        f"{name} may not be loaded here: this process has read no file that names it, and it is not in a "
        "folder of AGENTIC_MODULE_PATH; set that to the folder of your project, or run the file that names it"
    )


def _load(path: Path) -> _Loaded:
    try:
        source = path.read_bytes()
    except OSError as exc:
        raise OwnCodeError(f"{path} cannot be read ({exc.strerror})") from None
    digest = hashlib.blake2b(source, digest_size=8).hexdigest()
    known = _files.get(path)
    if known is not None and known.digest == digest:
        return known
    folder = str(path.parent)
    if folder not in sys.path:  # for the modules beside it; installed ones come first
        sys.path.append(folder)
    # A name of its own: a file may be called like an installed module.
    name = f"agentic_own_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OwnCodeError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as exc:
        sys.modules.pop(name, None)
        raise OwnCodeError(f"{path.name} cannot be imported: {_line_of(exc, path)}{_said(exc)}") from exc
    loaded = _files[path] = _Loaded(module, digest)
    return loaded


def load_file(path: Path) -> ModuleType:
    """Run a Python file, and allow this process to use its functions; run again only if it has changed.

    Raises:
        OwnCodeError: It cannot be imported.
    """
    with _lock:
        _named.add(path)
        return _load(path).module


def functions_of(module: ModuleType) -> list[Callable[..., Any]]:
    """Return the public functions that a file defines itself, in order."""
    found = [value for value in vars(module).values() if inspect.isfunction(value)]
    return [one for one in found if one.__module__ == module.__name__ and not one.__name__.startswith("_")]


def _function(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if inspect.isfunction(found):
        return found
    own = ", ".join(one.__name__ for one in functions_of(module)) or "none"
    kind = "has no function" if found is None else "has something else than a function as"
    raise OwnCodeError(f"{path.name} {kind} {name!r}; its functions: {own}")


def _place(exc: Exception, function: Callable[..., Any]) -> str:
    file = inspect.getfile(function)
    return f"{Path(file).name}:{function.__name__}{_line_of(exc, Path(file))}".rstrip(": ")


def _line_of(exc: Exception, path: Path) -> str:
    """Return the line of the file that raised: ``" line 12: "``."""
    if isinstance(exc, SyntaxError) and exc.filename == str(path):
        return f"line {exc.lineno}: "
    lines = [frame.lineno for frame in traceback.extract_tb(exc.__traceback__) if frame.filename == str(path)]
    return f" line {lines[-1]}: " if lines else ""


def _said(exc: Exception) -> str:
    text = exc.msg if isinstance(exc, SyntaxError) else str(exc)
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__
