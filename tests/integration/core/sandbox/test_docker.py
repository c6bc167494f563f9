from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentic.core.sandbox.docker.sandbox import DockerSandbox
from agentic.core.testing import SandboxContract

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        shutil.which("podman") is None or shutil.which("runc") is None or os.geteuid() != 0,
        reason="needs root and Debian's packages podman and runc",
    ),
]

CONFIGURATION = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
exit_command_delay = 10
"""


IMAGE = "localhost/base:latest"


def make_image(archive: Path) -> None:
    """An image that is almost empty: the programs come from this machine."""
    with tarfile.open(archive, "w") as root:
        for name in ("usr", "etc", "proc", "dev", "sys", "tmp", "box", "run", "var/tmp", "tools"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            root.addfile(folder)
        for name in ("bin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            root.addfile(link)


def strict_profile(folder: Path) -> str:
    """The profile of this podman, without sockets to a virtual machine's host and user namespaces."""
    profile = json.loads(Path("/usr/share/containers/seccomp.json").read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in {"socket", "unshare", "setns"}]
    for domain in (1, 2, 10, 16):
        rule = {"names": ["socket"], "action": "SCMP_ACT_ALLOW"}
        profile["syscalls"].append({**rule, "args": [{"index": 0, "value": domain, "op": "SCMP_CMP_EQ"}]})
    path = folder / "seccomp.json"
    path.write_text(json.dumps(profile))
    return str(path)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real podman with storage of its own; it serves the API of Docker."""
    home = tmp_path_factory.mktemp("podman")
    (home / "containers.conf").write_text(CONFIGURATION)
    (home / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{home}/graph"\nrunroot = "{home}/run"\n'
    )
    environment = {
        **os.environ,
        "CONTAINERS_CONF": str(home / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
    }
    make_image(home / "root.tar")
    subprocess.run(
        ["podman", "import", home / "root.tar", IMAGE], env=environment, check=True, capture_output=True
    )
    address = f"unix://{home}/engine.sock"
    with (home / "log").open("w") as log:
        served = subprocess.Popen(
            ["podman", "system", "service", "--time", "0", address],
            cwd=home,  # podman leaves a file there when a container has no memory left
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        until = time.monotonic() + 60
        while not (home / "engine.sock").exists():
            assert served.poll() is None, (home / "log").read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        yield address
    finally:
        subprocess.run(
            ["podman", "rm", "--all", "--force"], env=environment, check=False, capture_output=True
        )
        served.send_signal(signal.SIGTERM)
        served.wait(30)


@pytest.mark.requirement("SB01", "SB03")
class TestDockerSandbox(SandboxContract):
    """Containers of a real podman."""

    @pytest.fixture
    async def sandbox(self, engine: str, tmp_path: Path) -> AsyncIterator[DockerSandbox]:
        seccomp = strict_profile(tmp_path)
        async with DockerSandbox(IMAGE, url=engine, binds={"/usr": "/usr"}, seccomp=seccomp) as sandbox:
            yield sandbox
