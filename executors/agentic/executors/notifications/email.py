"""Sends a message by SMTP. Blocks; for a thread."""

from __future__ import annotations

import smtplib
import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from agentic.core.errors import line_of
from agentic.executors.notifications.arrival import Arrival, Sending, Target
from agentic.executors.notifications.messages import NotificationMessage

FORM = "smtp://USER:PASSWORD@HOST:587?from=ADDRESS, or smtps://...:465"
_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """A server for outgoing mail."""

    host: str
    port: int
    is_tls: bool
    user: str = ""
    password: str = ""
    sender: str = ""


class SmtpUrlError(ValueError):
    """The text is not the URL of an SMTP server."""


def read_server(url: str) -> SmtpServer:
    """Read ``smtp://user:password@host:587?from=me@example.org``.

    Raises:
        SmtpUrlError: It is something else; the message does not repeat it.
    """
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SmtpUrlError(f"the SMTP server is not a URL; write {FORM}") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise SmtpUrlError(f"the SMTP server is not an smtp:// URL; write {FORM}")
    user = unquote(parts.username or "")
    sender = parse_qs(parts.query).get("from", [""])[0]
    if not sender.isprintable():
        raise SmtpUrlError(f"the SMTP server has a sender with a line break; write {FORM}")
    return SmtpServer(
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        is_tls=parts.scheme == "smtps",
        user=user,
        password=unquote(parts.password or ""),
        sender=sender or (user if "@" in user else f"agentic@{parts.hostname}"),
    )


def addresses_in(text: str) -> list[str]:
    """Return the valid e-mail addresses in a text."""
    found = [parseaddr(part)[1] for part in text.split(",")]
    return [address for address in found if "@" in address.strip("@") and address.isprintable()]


def send_email(target: Target, message: NotificationMessage, timeout_s: float) -> Sending:
    """Send a message to all addresses of a target."""
    to = addresses_in(target.address)
    if not to:
        return Sending(arrival=Arrival.REFUSED, reason="the target has no e-mail address")
    try:
        server = read_server(target.credential or "")
    except SmtpUrlError as exc:
        return Sending(arrival=Arrival.REFUSED, reason=str(exc))
    try:
        client = _opened(server, timeout_s)
    except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError) as exc:
        return Sending(arrival=Arrival.REFUSED, reason=_reason(server, exc))
    except (smtplib.SMTPException, OSError) as exc:  # before the first word of the mail
        return Sending(arrival=Arrival.RETRY, reason=_reason(server, exc))
    with closing(client):
        return _sent(client, server, to, message)


def _sent(client: smtplib.SMTP, server: SmtpServer, to: list[str], message: NotificationMessage) -> Sending:
    try:
        refused = client.send_message(_mail(server.sender, to, message), server.sender, to)
    except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as exc:
        return _answered(server, exc)
    except smtplib.SMTPNotSupportedError as exc:  # an address that is not ASCII, before the first word
        return Sending(arrival=Arrival.REFUSED, reason=_reason(server, exc))
    except (smtplib.SMTPException, OSError) as exc:
        return Sending(arrival=Arrival.UNKNOWN, reason=_reason(server, exc))
    return Sending(arrival=Arrival.SENT, reason=f"refused for {', '.join(refused)}" if refused else "")


def _opened(server: SmtpServer, timeout_s: float) -> smtplib.SMTP:
    context = ssl.create_default_context()
    client = (
        smtplib.SMTP_SSL(server.host, server.port, timeout=timeout_s, context=context)
        if server.is_tls
        else smtplib.SMTP(server.host, server.port, timeout=timeout_s)
    )
    try:
        client.ehlo_or_helo_if_needed()
        if not server.is_tls and client.has_extn("starttls"):
            client.starttls(context=context)
            client.ehlo()
        elif not server.is_tls and server.user:
            raise smtplib.SMTPNotSupportedError("it offers no TLS, so the password is not sent; use smtps://")
        if server.user:
            client.login(server.user, server.password)
    except BaseException:
        client.close()
        raise
    return client


def _answered(
    server: SmtpServer, exc: smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused
) -> Sending:
    """Return whether the server's refusal is for now (4xx) or for good."""
    codes = (
        [code for code, _ in exc.recipients.values()]
        if isinstance(exc, smtplib.SMTPRecipientsRefused)
        else [exc.smtp_code]
    )
    is_for_now = all(400 <= code < 500 for code in codes)
    return Sending(arrival=Arrival.RETRY if is_for_now else Arrival.REFUSED, reason=_reason(server, exc))


def _mail(sender: str, to: list[str], message: NotificationMessage) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = message.title
    mail["From"] = sender
    mail["To"] = ", ".join(to)
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2] or 'agentic'}>"
    mail["Auto-Submitted"] = "auto-generated"  # no answer of an absent reader
    mail.set_content(message.text)
    return mail


def _reason(server: SmtpServer, exc: Exception) -> str:
    where = f"the SMTP server {server.host}:{server.port}"
    if isinstance(exc, smtplib.SMTPRecipientsRefused):
        said = "; ".join(f"{to}: {code} {_text(text)}" for to, (code, text) in exc.recipients.items())
        return f"{where} refused {said}"
    if isinstance(exc, smtplib.SMTPResponseException):
        return f"{where} answered {exc.smtp_code} {_text(exc.smtp_error)}"
    if isinstance(exc, socket.gaierror):
        return f"{where}: its name cannot be resolved"
    return f"{where}: {line_of(exc)}"


def _text(said: bytes | str) -> str:
    return " ".join((said.decode(errors="replace") if isinstance(said, bytes) else said).split())
