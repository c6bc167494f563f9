from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agentic.core.errors import SettingsError
from agentic.core.settings import Settings, load_settings
from agentic.executors.workers.celery_config import unread, unread_file
from agentic.executors.workers.config import QUEUES, celery_settings


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "celeryconfig", raising=False)
    return load_settings(home=tmp_path / "home", broker_url="redis://:secret@localhost:1/0")


def test_without_a_celeryconfig_the_packaged_settings_hold(settings: Settings) -> None:
    made = celery_settings(settings)

    assert made["broker_url"] == "redis://:secret@localhost:1/0"
    assert made["accept_content"] == ["json"]
    assert made["worker_prefetch_multiplier"] == 1


@pytest.mark.requirement("PL34")
def test_workers_are_recycled_after_a_number_of_tasks(settings: Settings) -> None:
    assert celery_settings(settings)["worker_max_tasks_per_child"] == 1000


def test_a_celeryconfig_in_the_current_folder_wins_over_the_packaged_settings(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "celeryconfig.py").write_text("worker_max_tasks_per_child = 7\nmy_own = [1]\n")

    made = celery_settings(settings)
    monkeypatch.delitem(sys.modules, "celeryconfig")

    assert made["worker_max_tasks_per_child"] == 7
    assert made["my_own"] == [1]
    assert made["task_acks_late"] is True


def test_what_a_celeryconfig_imports_is_no_setting(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_CONFIG_MODULE", "imports_things")
    source = (
        "import os\nfrom agentic.executors.schedule import every\n_private = 1\ndef task_routes(*_): ...\n"
    )
    (tmp_path / "imports_things.py").write_text(source)

    made = celery_settings(settings)

    assert not {"os", "every", "_private"} & made.keys()
    assert callable(made["task_routes"])


def test_a_config_module_that_was_named_and_is_missing_is_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_CONFIG_MODULE", "no_such_config")

    with pytest.raises(SettingsError, match="no_such_config"):
        celery_settings(settings)


def test_a_mistake_inside_a_celeryconfig_is_not_taken_for_its_absence(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "celeryconfig.py").write_text("import not_installed_anywhere\n")

    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        celery_settings(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_celeryconfig_of_another_user_is_not_run(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "celeryconfig.py"
    file.write_text("worker_max_tasks_per_child = 7\n")
    os.chown(file, 65_534, 65_534)

    with pytest.raises(SettingsError, match=r"celeryconfig\.py is not run.*owner 65534"):
        celery_settings(settings)

    monkeypatch.setenv("CELERY_CONFIG_MODULE", "celeryconfig")
    assert celery_settings(settings)["worker_max_tasks_per_child"] == 7
    monkeypatch.delitem(sys.modules, "celeryconfig")


def test_a_celeryconfig_that_all_users_may_write_is_not_run(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "celeryconfig.py"
    file.touch()
    file.chmod(0o666)
    with pytest.raises(SettingsError, match="mode 0666"):
        celery_settings(settings)


def test_what_looks_around_leaves_a_celeryconfig_of_the_folder_unread(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "celeryconfig.py").write_text("raise SystemExit('was run')\n")
    with unread():
        assert celery_settings(settings)["worker_max_tasks_per_child"] == 1000
        assert unread_file() == tmp_path / "celeryconfig.py"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert unread_file() is None


def test_every_queue_is_declared(settings: Settings) -> None:
    queues = celery_settings(settings)["task_queues"]

    assert isinstance(queues, tuple)
    assert tuple(queue.name for queue in queues) == QUEUES
