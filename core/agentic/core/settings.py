"""The configuration: the environment, then the note of a running ``agentic up``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError

from agentic.core.errors import SettingsError
from agentic.core.masking import passwords_in, remember_secrets

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PREFIX = "AGENTIC_"
RUNTIME_FILE = "runtime.json"
NATS_ACCOUNTS = "nats-accounts"
"""Folder in the home with the accounts of the embedded NATS server, if projects have any."""
ACCOUNTS_FILE = "accounts.conf"

# The scheme's length is bounded, or a long text without a URL would take time by its square.
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://(?:[^\s'\"<>@]{0,200}@)?[^\s'\"<>()\[\]{},;]+", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::\d*)?")


class Settings(BaseModel):
    """All settings from the environment. Each field is read from ``AGENTIC_<NAME>``.

    URLs may carry passwords, so they are secrets: print them through :func:`safe_url`.
    """

    # The base class of pydantic-settings takes 0.15 s to load, more than all the rest of `agentic --version`.
    model_config = ConfigDict(frozen=True, extra="ignore")

    home: Path = Field(Path(".agentic"), description="Folder for the database and the embedded servers.")
    database_url: SecretStr = Field(SecretStr(""), description="SQLAlchemy URL; SQLite in `home` if empty.")
    sqlite_synchronous: Literal["full", "normal"] = Field(
        "full",
        description="When SQLite waits for the disk: at each commit, or rarely, so that a power cut may "
        "lose the newest commits.",
    )
    broker_url: SecretStr = Field(
        SecretStr(""), description="Celery broker, for example redis://host:6379/0."
    )
    budget_url: SecretStr = Field(
        SecretStr(""),
        description="Redis or Valkey server for rate limits shared by workers; the broker if empty.",
    )
    checkpoints_url: SecretStr = Field(
        SecretStr(""),
        description="Checkpoint store of `open_checkpoints`: NATS, Redis or a database; this one's if empty.",
    )
    nats_url: SecretStr = Field(SecretStr(""), description="NATS server; the in-memory bus if empty.")
    nats_seed_file: str = Field(
        "",
        description="Nkey seed for NATS; `{project}` in it stands for the project's name, if each has its "
        "own account.",
    )
    nats_ca_file: str = Field(
        "", description="CA certificates for the NATS server; the system's own if empty."
    )
    nats_cert_file: str = Field("", description="Client certificate of this machine, if NATS requires one.")
    nats_key_file: str = Field("", description="Key of that certificate, if it is in another file.")
    dispatcher: Literal["local", "celery"] = Field(
        "local", description="Where durable runs work: in this process, or on Celery workers."
    )
    workflow_modules: tuple[str, ...] = Field(
        (), description='Packages with workflows for names like "shop.flows:build", as JSON: ["shop"].'
    )
    module_path: tuple[str, ...] = Field(
        (),
        description="Folders with your own Python files that pipelines may name as actors "
        '(./shop.py:clean), as JSON: ["/srv/shop"].',
    )
    mcp_commands: tuple[str, ...] = Field(
        (),
        description="Programs, or whole command lines, that agents in the database may start as MCP servers, "
        'as JSON: ["npx"].',
    )
    lease_s: float = Field(
        30.0, ge=1, description="Seconds after which the work of a lost worker is taken over."
    )
    sweep_s: float = Field(
        5.0, ge=0, description="Seconds between searches of a worker for orphaned runs; 0 for never."
    )
    stall_s: float = Field(
        60.0,
        ge=0,
        description="Seconds that the event loop of a worker may block, beyond the timeout of its step, "
        "before its process is killed; 0 for no limit.",
    )
    secret_keys: SecretStr = Field(
        SecretStr(""),
        description="Keys of stored secrets, separated by commas: the first encrypts, all decrypt.",
    )
    serve_token: SecretStr = Field(
        SecretStr(""), description="Token of HTTP servers; one in `home`, made at the first start, if empty."
    )
    nats_http_url: str = Field(
        "", description="Monitoring URL of the NATS server for `agentic doctor`: http://host:8222."
    )
    project: str = Field("default", min_length=1, description="Default project of commands.")
    user: str = Field(
        "", description="Your name in `agentic audit`; the user of the operating system if empty."
    )
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    log_format: Literal["console", "json"] = "console"
    disabled_plugins: tuple[str, ...] = Field((), description='Entry points to skip, as JSON: ["web"].')
    user_agent: str = Field(
        "agentic-pipelines/0.1 (set AGENTIC_USER_AGENT to name yourself)",
        description="User agent of every request; name yourself and a contact.",
    )
    browser_path: str = Field("", description="Browser to start; the first known one that works if empty.")
    browser_pages: int = Field(4, ge=1, description="Concurrent pages per process.")
    browser_max_pages: int = Field(200, ge=1, description="Pages after which a browser is restarted.")
    browser_max_mib: int = Field(1024, ge=1, description="Memory (PSS) above which a browser is restarted.")
    sandbox: Literal["auto", "process", "docker", "remote", "unisolated"] = Field(
        "auto",
        description="Where code runs that a model wrote; `unisolated` gives it your files and network.",
    )
    sandbox_image: str = Field("", description="Image of the containers for such code.")
    sandbox_engine: str = Field(
        "unix:///var/run/docker.sock",
        description="Address of the container engine: Docker, or podman's service.",
    )
    sandbox_pool: str = Field("default", min_length=1, description="Workers of the remote sandbox.")

    _runtime: dict[str, str] = PrivateAttr(default_factory=dict)

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - keyword pass-through to pydantic
        super().__init__(**(_read_environment(type(self).model_fields) | given))

    @property
    def database(self) -> str:
        """SQLAlchemy URL of the database in use; may hold a password."""
        given = self.database_url.get_secret_value()
        return given or f"sqlite:///{self.home.absolute() / 'agentic.db'}"

    @property
    def chosen_project(self) -> str | None:
        """The project that the environment names; None for the default."""
        return self.project if "project" in self.model_fields_set else None

    @property
    def broker(self) -> str | None:
        """URL of the Celery broker, from the environment or a running ``agentic up``; otherwise None."""
        return self.broker_url.get_secret_value() or self._runtime.get("broker")

    @property
    def budget(self) -> str | None:
        """URL of the server for the turns of hosts, if it is not the broker; otherwise None."""
        return self.budget_url.get_secret_value() or None

    @property
    def checkpoints(self) -> str:
        """URL of the checkpoint store, by default the database; may hold a password."""
        return self.checkpoints_url.get_secret_value() or self.database

    @property
    def nats(self) -> str | None:
        """URL of the NATS server, from the environment or a running ``agentic up``; otherwise None."""
        return self.nats_url.get_secret_value() or self._runtime.get("nats")

    @property
    def nats_seed(self) -> str:
        """Name of the file with the nkey seed, from ``nats_seed_file`` or a running ``agentic up``."""
        made = self.home.absolute() / NATS_ACCOUNTS
        is_embedded = not self.nats_url.get_secret_value() and "nats" in self._runtime
        if self.nats_seed_file or not is_embedded or not (made / ACCOUNTS_FILE).exists():
            return self.nats_seed_file
        return str(made / "{project}.nk")

    @property
    def nats_http(self) -> str | None:
        """Address of NATS's own reports, from the environment or a running ``agentic up``; otherwise None."""
        return self.nats_http_url or self._runtime.get("nats_http")


def load_settings(**overrides: Any) -> Settings:  # noqa: ANN401 - keyword pass-through to pydantic
    """Read the current settings.

    Args:
        overrides: Values that override the environment; meant for tests and for commands with options.

    Raises:
        SettingsError: A variable has an unusable value. The value itself is not shown, because it may be a
            secret.
    """
    try:
        settings = Settings(**overrides)
    except ValidationError as exc:
        faults = "; ".join(
            f"{PREFIX}{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in exc.errors()
        )
        raise SettingsError(f"{faults}; correct or unset it") from None
    settings._runtime.update(_running_services(settings.home))
    remember_secrets(*_secrets_of(settings))
    return settings


def _read_environment(fields: Mapping[str, FieldInfo]) -> dict[str, object]:
    """Return field -> value of its variable, in upper or lower case; lists are JSON.

    Raises:
        SettingsError: A list is not JSON.
    """
    variables = {name.lower(): text for name, text in os.environ.items()}
    given = {name: variables.get(f"{PREFIX.lower()}{name}") for name in fields}
    return {
        name: text if get_origin(fields[name].annotation) is not tuple else _read_list(name, text)
        for name, text in given.items()
        if text is not None
    }


def _read_list(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        example = '["one", "two"]'
        raise SettingsError(
            f"{PREFIX}{name.upper()} is not JSON, as {example}; correct or unset it"
        ) from None


def _secrets_of(settings: Settings) -> Iterator[str]:
    """Yield the passwords in URLs, and the keys; not whole URLs: messages may show the rest of them."""
    given = (
        settings.database_url,
        settings.broker_url,
        settings.budget_url,
        settings.checkpoints_url,
        settings.nats_url,
    )
    for text in (*(url.get_secret_value() for url in given), *settings._runtime.values()):
        yield from passwords_in(text)
        user, mark, password = text.partition("://")[2].rpartition("@")[0].partition(":")
        yield password if mark or not text.startswith(("nats:", "tls:")) else user  # a token stands alone
    yield (settings.nats_http or "").partition("://")[2].partition("/")[2]
    yield from (key.strip() for key in settings.secret_keys.get_secret_value().split(","))
    yield settings.serve_token.get_secret_value()


def safe_url(url: str) -> str:
    """Return ``url`` without user name and password, query and fragment: safe for messages and logs."""
    scheme, mark, rest = url.partition("//")
    if not mark:
        scheme, rest = "", url
    head, slash, tail = rest.partition("/")
    if "@" in tail and not _HOST_AND_PORT.fullmatch(head.rpartition("@")[2]):
        # That was not host and port, but the beginning of a password with a slash in it.
        head, slash, tail = rest.rpartition("@")[2].partition("/")
    return f"{scheme}{mark}{head.rpartition('@')[2]}{slash}{re.split('[?#]', tail, maxsplit=1)[0]}"


def safe_text(text: str) -> str:
    """Return ``text`` with its URLs stripped of user names, passwords and queries."""
    return _URL.sub(lambda found: safe_url(found.group()), text)


def _running_services(home: Path) -> dict[str, str]:
    """Return service name -> URL from the note of the supervisor in ``home``, if its process still lives."""
    try:
        runtime = json.loads((home / RUNTIME_FILE).read_text(encoding="utf-8"))
        os.kill(int(runtime["pid"]), 0)
        return {str(name): str(url) for name, url in runtime["urls"].items()}
    except PermissionError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # No file, a partial one of a killed supervisor, or a pid that is gone: nothing runs here.
        return {}
