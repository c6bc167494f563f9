"""What requests show to say who asks is a secret from then on, whoever made it up."""

from __future__ import annotations

import pytest

from agentic.core.http import FetchError
from agentic.core.http.sessions.credentials import learn_credentials
from agentic.core.masking import MASK, mask_known, remember_secrets

pytestmark = pytest.mark.requirement("PL41")


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("Authorization", "Bearer minted-7d-zebra", "minted-7d-zebra"),
        ("authorization", "Basic YWRhOmh1c2gtN2QtemVicmE=", "YWRhOmh1c2gtN2QtemVicmE="),
        ("X-Api-Key", "key-7d-zebra", "key-7d-zebra"),
        ("Cookie", "lang=de; sid=0123456789abcdef-7d", "0123456789abcdef-7d"),
    ],
)
def test_a_credential_is_masked_once_it_was_sent(name: str, value: str, secret: str) -> None:
    learn_credentials({"accept": "text/html", name: value})
    assert mask_known(f"denied for {secret}, {value}").count(MASK) == 2
    assert secret not in mask_known(f"denied for {secret}, {value}")


def test_what_is_no_credential_stays_readable() -> None:
    headers = {"user-agent": "agentic-pipelines", "accept": "text/html", "cookie": "theme=dark-mode; lang=de"}
    learn_credentials(headers)
    assert [text for text in headers.values() if mask_known(text) != text] == []


def test_an_error_of_a_fetch_has_no_secret_from_its_beginning() -> None:
    remember_secrets("hush-7d-zebra")
    error = FetchError("https://host/hush-7d-zebra", "http_403", "denied for hush-7d-zebra", status=403)
    assert str(error) == f"https://host/{MASK} was not fetched (http_403): denied for {MASK}"
    assert error.url == f"https://host/{MASK}"


def test_cookies_that_come_and_go_push_out_no_password() -> None:
    remember_secrets("postgres-pw-1234567")
    for number in range(1_100):
        learn_credentials({"Cookie": f"session={number:032}"})
    assert mask_known("postgresql://u:postgres-pw-1234567@h") == f"postgresql://u:{MASK}@h"
    assert mask_known(f"session={1_099:032}") == f"session={MASK}"
