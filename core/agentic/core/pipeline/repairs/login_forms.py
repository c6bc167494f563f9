"""Login forms that changed: found by their structure. Values of fields are neither given nor read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

from turbohtml import Document, Element

from agentic.core.http.urls import origin_of
from agentic.core.reading.addresses import absolute, base_of
from agentic.core.reading.controls import controls_of
from agentic.core.settings import safe_url
from agentic.core.wrappers.words import text_words, words_of

_TYPED = frozenset({"", "text", "email", "tel"})
_PASSWORD_WORDS = frozenset(
    (
        "password",
        "passwd",
        "passwort",
        "pass",
        "pwd",
        "pw",
        "kennwort",
        "contrasena",
        "senha",
        "secret",
        "mdp",
    )
)
_USER_WORDS = frozenset(
    (
        "user", "username", "login", "email", "mail", "account", "benutzer", "benutzername", "name", "uid",
        "identifier", "member", "kunde", "usuario", "utilisateur", "key",
    )
)  # fmt: skip
_OTHER_FORM_WORDS = frozenset(
    (
        "register",
        "registration",
        "signup",
        "join",
        "create",
        "registrieren",
        "newsletter",
        "subscribe",
        "reset",
    )
)
_LOGIN_WORDS = frozenset(
    {"login", "signin", "anmelden", "connexion", "acceder", "entrar", "logon", "einloggen"}
)
_LOGIN_PAIRS = (("log", "in"), ("sign", "in"), ("log", "on"), ("se", "connecter"), ("iniciar", "sesi"))
_BY_COOKIES = "log in elsewhere and give the cookies"
_TRAPS = frozenset({"website", "url", "homepage", "hp", "honeypot", "nickname"})


@dataclass(frozen=True, slots=True)
class OldLogin:
    """A login as a spec has it, without any value.

    Attributes:
        url: Of the login page.
        names: Of its fields.
        form_selector: Of the form; None if the names find it.
        secret_names: Field -> name of the secret that it gets, where it gets one.
    """

    url: str
    names: tuple[str, ...]
    form_selector: str | None = None
    secret_names: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LoginForm:
    """A login form on a page.

    Attributes:
        action: Where it is sent.
        user: Name of the field for the user.
        password: Name of the field for the password.
        hidden: Names of the hidden fields; they are sent as they are.
        names: Of all fields.
    """

    action: str
    user: str
    password: str
    hidden: tuple[str, ...]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class FoundLogin:
    """A login form and the new names of the fields.

    Attributes:
        url: Of the login page.
        form: The form.
        renamed: Old name -> new name.
        drops_selector: Whether the selector of the form matches nothing, and the names find the form.
    """

    url: str
    form: LoginForm
    renamed: Mapping[str, str]
    drops_selector: bool


def still_works(document: Document, login: OldLogin) -> bool:
    """Return whether a form of the page has all fields, as a login looks for it."""
    wanted = set(login.names)
    if login.form_selector is not None:
        place = document.select_one(login.form_selector)
        form = place.closest("form") if place is not None else None
        return form is not None and wanted <= _names(document, form)
    return any(wanted <= _names(document, form) for form in document.select("form"))


def find_login(documents: Sequence[tuple[Document, str]], login: OldLogin) -> FoundLogin | str:
    """Return the login form of a page with the new names, or why none can be named.

    A form counts that has one field for a password and one for a user, and is sent to the origin of its
    page, over TLS where that page is. One that is sent to another site is never returned: it may belong to
    a thief.

    Args:
        documents: The page and its address, fetched twice: a name must not change with each answer.
        login: The login of the spec.
    """
    if elsewhere := [url for _, url in documents if not _is_of_site(url, login.url)]:
        return (
            f"the login page leads to {safe_url(origin_of(elsewhere[0]))}; the login of another site is not "
            "taken: look at the page yourself"
        )
    found = [_found_on(document, url, login) for document, url in documents]
    first = found[0]
    if isinstance(first, str):
        return first
    if any(isinstance(other, str) or other.renamed != first.renamed for other in found[1:]):
        return f"the names of the fields change with each answer; {_BY_COOKIES}"
    return first


def login_links(document: Document, url: str) -> list[str]:
    """Return the addresses of this site that may be its login page, by the words of their links."""
    base, found = base_of(document, url), []
    for link in document.select("a[href]"):
        address = absolute(base, link.attr("href") or "")
        if address is None or origin_of(address) != origin_of(url):
            continue
        words = (*text_words(link.text[:80]), *words_of(urlsplit(address).path))
        pairs = set(pairwise(words))
        if not _LOGIN_WORDS.isdisjoint(words) or not pairs.isdisjoint(_LOGIN_PAIRS):
            found.append(address)
    return list(dict.fromkeys(found))


def _found_on(document: Document, url: str, login: OldLogin) -> FoundLogin | str:
    forms = _logins_of(document, url)
    if isinstance(forms, str):
        return forms
    read = [(one, form) for form in forms if (one := _read(document, form, url)) is not None]
    distinct = {(one.user, one.password, one.action): (one, form) for one, form in read}
    if len(distinct) != 1:
        return (
            f"{len(distinct)} forms of the page may be the login; name one with form_selector"
            if distinct
            else "the form with a password has no single field for a user; name its fields yourself"
        )
    form, element = next(iter(distinct.values()))
    renamed = _renamed(form, login)
    if isinstance(renamed, str):
        return renamed
    asked = [name for name in _typed(document, element) if name != form.user and name not in login.names]
    if asked:
        return f"the form also asks for {asked[0]!r}; {_BY_COOKIES}, or name all its fields yourself"
    return _as_found(document, url, login, form, element, renamed)


def _logins_of(document: Document, url: str) -> list[Element] | str:
    """Return the forms of a page that may get a password, or the reason for none."""
    with_password = [form for form in document.select("form") if _password_count(document, form) == 1]
    if not with_password:
        return _without_password(document)
    logins = [form for form in with_password if not _is_for_another_purpose(form)]
    ours = [form for form in logins if _is_ours(document, form, url)]
    if logins and not ours:
        hosts = ", ".join(sorted({urlsplit(_action(document, form, url)).netloc for form in logins}))
        return (
            f"the form with a password is sent to {hosts}, not to the site of the login page over TLS; it "
            f"may be foreign: look at the page yourself, and {_BY_COOKIES}"
        )
    by_post = [form for form in ours if (form.attr("method") or "").lower() == "post"]
    if ours and not by_post:
        return f"the form with a password is not sent by POST, or scripts send it; {_BY_COOKIES}"
    return by_post


def _as_found(
    document: Document,
    url: str,
    login: OldLogin,
    form: LoginForm,
    element: Element,
    renamed: Mapping[str, str],
) -> FoundLogin | str:
    """Return a login as found if the actor will find the same form."""
    selector = login.form_selector
    place = document.select_one(selector) if selector is not None else None
    if place is not None and place.closest("form") == element:
        return FoundLogin(url, form, renamed, drops_selector=False)
    names = {form.user, form.password}
    if next(one for one in document.select("form") if names <= _names(document, one)) != element:
        return "an earlier form of the page has the same fields; name the login with form_selector"
    return FoundLogin(url, form, renamed, drops_selector=selector is not None)


def _without_password(document: Document) -> str:
    if document.select_one('input[type="password" i]') is not None:
        return "no form of the page has just one field for a password; name its fields yourself"
    has_user = any(
        not _USER_WORDS.isdisjoint(words_of(node.attr("name") or ""))
        for node in document.select("form input")
    )
    if has_user:
        return f"the page asks for the user first and for the password later; {_BY_COOKIES}"
    return "no form of the page asks for a password; scripts may make it: try `via: browser`"


def _renamed(form: LoginForm, login: OldLogin) -> dict[str, str] | str:
    """Return the new names of the fields that the form no longer has."""
    gone = [name for name in login.names if name not in form.names]
    secret_names = login.secret_names or {}
    passwords = [
        name
        for name in login.names
        if not _PASSWORD_WORDS.isdisjoint((*words_of(name), *words_of(secret_names.get(name, ""))))
    ]
    if len(passwords) != 1:
        return "it is unclear which field of the spec is the password; rename the fields yourself"
    users = [name for name in login.names if name not in passwords and (name in gone or name == form.user)]
    if form.user in login.names:
        users = [form.user]
    if len(users) != 1:
        names = ", ".join(repr(name) for name in gone if name not in passwords) or "none"
        return (
            f"it is unclear which field of the spec is the user (gone: {names}); rename the fields yourself"
        )
    found = {passwords[0]: form.password, users[0]: form.user}
    rest = [name for name in gone if name not in found]
    if rest:
        return f"the form no longer has {rest[0]!r}, and nothing says what stands for it"
    if clash := [new for old, new in found.items() if old != new and new in login.names]:
        return f"the spec has the field {clash[0]!r} for something else; rename the fields yourself"
    return {old: found[old] for old in login.names if old in found and found[old] != old}


def _read(document: Document, form: Element, url: str) -> LoginForm | None:
    controls = list(controls_of(document, form))
    password = next((one for one in controls if _kind(one) == "password"), None)
    users = [one for one in controls if _is_typed(one)]
    if len(users) > 1:
        named = [one for one in users if "username" in (one.attr("autocomplete") or "").lower()]
        users = named or [
            one for one in users if not _USER_WORDS.isdisjoint(words_of(one.attr("name") or ""))
        ]
    if password is None or len(users) != 1:
        return None
    return LoginForm(
        _action(document, form, url),
        users[0].attr("name") or "",
        password.attr("name") or "",
        tuple(one.attr("name") or "" for one in controls if _kind(one) == "hidden"),
        frozenset(one.attr("name") or "" for one in controls),
    )


def _typed(document: Document, form: Element) -> list[str]:
    return [one.attr("name") or "" for one in controls_of(document, form) if _is_typed(one)]


def _is_typed(node: Element) -> bool:
    """Return whether people type into a field that they can see."""
    if node.tag != "input" or _kind(node) not in _TYPED or node.attr("readonly") is not None:
        return False
    for one in (node, *(outer for outer in node.ancestors if isinstance(outer, Element))):
        style = (one.attr("style") or "").replace(" ", "").lower()
        if "display:none" in style or "visibility:hidden" in style or one.attr("hidden") is not None:
            return False
        if one.tag == "form":
            break
    is_skipped = node.attr("tabindex") == "-1" or node.attr("aria-hidden") == "true"
    return not is_skipped and _TRAPS.isdisjoint(words_of(node.attr("name") or ""))


def _kind(node: Element) -> str:
    return (node.attr("type") or "").lower() if node.tag == "input" else node.tag


def _names(document: Document, form: Element) -> frozenset[str]:
    return frozenset(one.attr("name") or "" for one in controls_of(document, form))


def _password_count(document: Document, form: Element) -> int:
    return sum(_kind(one) == "password" for one in controls_of(document, form))


def _is_for_another_purpose(form: Element) -> bool:
    texts = [form.attr(name) or "" for name in ("action", "id", "class", "name")]
    words = {word for text in texts for word in words_of(text)}
    return not _OTHER_FORM_WORDS.isdisjoint(words) and _LOGIN_WORDS.isdisjoint(words)


def _action(document: Document, form: Element, url: str) -> str:
    action = (form.attr("action") or "").strip()
    return urljoin(base_of(document, url), action) if action else url


def _is_of_site(url: str, login_url: str) -> bool:
    """Return whether a page is at the host of the login page, and not without TLS where that had it."""
    one, other = urlsplit(url), urlsplit(login_url)
    return one.hostname == other.hostname and (one.scheme == "https" or other.scheme == "http")


def _is_ours(document: Document, form: Element, url: str) -> bool:
    """Return whether a form is sent to the origin of its page, or to its host with TLS in addition."""
    action = _action(document, form, url)
    if not action.startswith(("http://", "https://")):
        return False
    is_upgrade = action.startswith("https:") and url.startswith("http:")
    same_host = urlsplit(action).hostname == urlsplit(url).hostname
    return origin_of(action) == origin_of(url) or (is_upgrade and same_host)


def shown(found: FoundLogin) -> str:
    """Return a found login in words, without any value."""
    pairs = ", ".join(f"{old} is now {new}" for old, new in found.renamed.items()) or "no field is renamed"
    return f"the form is sent to {safe_url(found.form.action)}; {pairs}"
