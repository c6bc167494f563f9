"""Environments of tests are made by uv, which knows nothing of what pip is configured with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packages import places_of_pip

CONFIG = """
[global]
index-url = https://global.example/simple
extra-index-url =
    https://one.example/simple
    https://two.example/simple
cert = /etc/ssl/ours.pem
timeout = 9

[install]
index-url = https://install.example/simple
find-links = /wheels /more
trusted-host = one.example
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_CERT", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_TRUSTED_HOST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pip.conf").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))


def test_the_places_that_pip_asks_are_told_in_its_words() -> None:
    expected = {
        "SSL_CERT_FILE": "/etc/ssl/ours.pem",
        "UV_DEFAULT_INDEX": "https://install.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_INSECURE_HOST": "one.example",
    }
    assert expected.items() <= places_of_pip.__wrapped__().items()


def test_variables_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable.example/simple")

    assert places_of_pip.__wrapped__()["UV_DEFAULT_INDEX"] == "https://variable.example/simple"
