"""Authentication between a process and a NATS server, in both directions."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentic.core.bus.errors import BusAccessError
from agentic.core.bus.nats.seeds import read_seed
from agentic.core.settings import Settings

PROJECT = "{project}"
"""In the name of a seed file: each project has its own account and seed."""

OBSERVER = ".observer"
"""End of the name of an observer's seed file, before ``.nk``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsAccess:
    """Credentials for a connection, besides the URL; empty for a server that requires none.

    Attributes:
        seed_file: Contains the nkey seed of a user.
        ca_file: Certificates, as PEM; one has signed the server's. None uses the system's certificates.
        cert_file: This process's own certificate, as PEM, for servers that require one.
        key_file: Its key; None if it is in ``cert_file``.
    """

    seed_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def options(self) -> dict[str, Any]:
        """Return the options for the client library; files are read now.

        Raises:
            BusAccessError: A file is missing, or has invalid content.
        """
        found: dict[str, Any] = {}
        if self.seed_file is not None:
            found["nkeys_seed_str"] = read_seed(self.seed_file)
        if self.ca_file is not None or self.cert_file is not None:
            found["tls"] = self._tls()
        return found

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except OSError as exc:  # errors of ssl are OSErrors, too
            files = [str(file) for file in (self.ca_file, self.cert_file, self.key_file) if file]
            raise BusAccessError(
                f"the certificates {', '.join(files)} cannot be used ({exc.strerror or exc}); correct "
                f"AGENTIC_NATS_CA_FILE, AGENTIC_NATS_CERT_FILE or AGENTIC_NATS_KEY_FILE"
            ) from exc
        return context


def has_accounts(settings: Settings) -> bool:
    """Whether each project has its own account on the server."""
    return PROJECT in settings.nats_seed


def access_of(settings: Settings, project: str) -> NatsAccess:
    """Return the credentials of a project."""
    seed = settings.nats_seed
    return NatsAccess(
        seed_file=seed_file(seed, project) if seed else None,
        ca_file=_path(settings.nats_ca_file),
        cert_file=_path(settings.nats_cert_file),
        key_file=_path(settings.nats_key_file),
    )


def _path(name: str) -> Path | None:
    return Path(name) if name else None


def seed_file(pattern: str, project: str) -> Path:
    """Return the seed file of a project: it contains the project's name, escaped as in a URL.

    The dot of a name that ends in ``.observer`` is escaped, too: ``shop.observer.nk`` is an observer's key.
    """
    name = quote(project, safe="", errors="surrogatepass")
    if name.endswith(OBSERVER):
        name = f"{name.removesuffix(OBSERVER)}%2E{OBSERVER[1:]}"
    return Path(pattern.replace(PROJECT, name))
