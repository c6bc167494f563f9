"""What the corpora come from."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from tests.corpora import distributions
from tests.corpora.distributions import CorpusMissingError, source_of

pytestmark = pytest.mark.corpus


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave pip a folder of archives instead of an index; return the folder."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "archives"))
    monkeypatch.setattr(distributions, "CACHE", tmp_path / "cache")
    (tmp_path / "archives").mkdir()
    return tmp_path / "archives"


def test_a_corpus_that_cannot_be_downloaded_is_a_failure_that_says_so(offline: Path) -> None:
    with pytest.raises(CorpusMissingError, match=r"protego 0\.7\.0 is not in .*offline") as caught:
        source_of("protego", "0.7.0")
    assert "protego==0.7.0" in str(caught.value)
    assert not list(distributions.CACHE.iterdir())


def test_an_archive_that_reaches_out_of_its_folder_is_not_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "evil-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        member = tarfile.TarInfo("evil-1.0/../../../outside")
        packed.addfile(member, io.BytesIO())
    with pytest.raises(tarfile.FilterError):
        distributions._unpacked(archive, tmp_path / "folder")
    assert not (tmp_path / "outside").exists()
