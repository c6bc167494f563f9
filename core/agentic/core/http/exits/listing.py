"""Reads the list of exits of a policy, from its URLs and secrets."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from pydantic import SecretStr, ValidationError

from agentic.core.http.errors import InvalidProxyError, MissingProxyError
from agentic.core.http.policy import HttpPolicy, id_of_proxy, secret_in
from agentic.core.http.transports.shared import ReadSecret
from agentic.core.masking import remember_passing
from agentic.core.records import record


@record
class ExitSpec:
    """One exit.

    Attributes:
        id: Reveals nothing about the proxy.
        url: The proxy.
        policy: The policy with this proxy alone.
    """

    id: str
    url: SecretStr
    policy: HttpPolicy


async def list_exits(policy: HttpPolicy, secret: ReadSecret | None) -> tuple[ExitSpec, ...]:
    """Return the exits of ``policy``.

    Raises:
        MissingProxyError: Secrets cannot be read.
        InvalidProxyError: A secret has no proxies, or a line that is not one.
    """
    found: dict[str, ExitSpec] = {}
    for proxy in policy.proxies:
        name = secret_in(proxy)
        if name is None:
            _add(found, id_of_proxy(proxy), _alone(policy, proxy))
            continue
        if secret is None:
            raise MissingProxyError(name)
        lines = (await secret(name)).get_secret_value().splitlines()
        urls = [(number, line.strip()) for number, line in enumerate(lines, 1) if _says_something(line)]
        if not urls:
            raise InvalidProxyError(name, "it has none; write them as 'http://user:password@host:3128'")
        for place, (number, line) in enumerate(urls):
            try:
                spec = _alone(policy, SecretStr(_url_of(line)))
            except ValidationError as exc:
                fault = exc.errors(include_url=False, include_input=False)[0]["msg"]
                raise InvalidProxyError(
                    name, f"line {number}: {fault.removeprefix('Value error, ')}"
                ) from None
            _add(found, id_of_proxy(proxy, place), spec)
    passwords = {urlsplit(one.url.get_secret_value()).password for one in found.values()}
    remember_passing(*(unquote(one) for one in passwords if one), *(one for one in passwords if one))
    return tuple(found.values())


def _add(found: dict[str, ExitSpec], exit_id: str, spec: ExitSpec) -> None:
    # Two URLs may differ in the password only, which is no part of an id.
    count = sum(known == exit_id or known.startswith(f"{exit_id}-") for known in found)
    unique = f"{exit_id}-{count + 1}" if count else exit_id
    found[unique] = ExitSpec(unique, spec.url, spec.policy)


def _alone(policy: HttpPolicy, proxy: SecretStr) -> ExitSpec:
    alone = HttpPolicy.model_validate({**dict(policy), "proxy": proxy, "proxies": ()})
    return ExitSpec("", proxy, alone)


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _url_of(line: str) -> str:
    """Return the URL of a proxy, also from the forms of sellers: host:port, host:port:user:password."""
    if "://" in line:
        return line
    parts = line.split(":", 3)
    if len(parts) == 4 and "@" not in line.partition(":")[0] and parts[1].isdigit():
        host, port, user, password = parts
        return f"http://{quote(user, safe='')}:{quote(password, safe='')}@{host}:{port}"
    return f"http://{line}"
