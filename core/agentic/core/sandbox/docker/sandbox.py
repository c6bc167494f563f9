"""Containers: one for each run, without network, with limits by the kernel's control groups."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Literal

from agentic.core.finishing import finish
from agentic.core.sandbox.archives import OVERHEAD_BYTES, packed, unpacked_changes
from agentic.core.sandbox.collecting import Collected
from agentic.core.sandbox.docker.engine import Engine, EngineError
from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import Ending, SandboxJob, SandboxResult
from agentic.core.sandbox.process.arguments import TEMPORARY, WORK, environment_of
from agentic.core.sandbox.sandbox import OnOutput, Sandbox
from agentic.core.sandbox.tools import FOLDER, SandboxTool, Toolbox

MARGIN_S = 120
"""Seconds after its limit of time that a container ends by itself, if this process is gone."""
_OOM_S, _LOOK_S = 0.2, 0.05
_HELPERS = 30  # processes of ours in a container; the limit of the command is one of its user
_FIRST_UID, _UIDS = 10_000, 50_000  # also known to engines without root
_INPUT = "/input"
_WRITABLE = ("/box", "/tmp", "/run", "/var/tmp")  # noqa: S108 - in the container

# The first process, root without any capability: opens the folders, and ends when the kernel has ended a
# process for lack of memory, or long after the limit of time. All others end with it.
_FIRST = """
chmod 1777 /box /tmp
count=0
while [ $count -lt {count} ]; do
  sleep {wait}
  for events in memory.events memory/memory.oom_control; do
    if grep -qs '^oom_kill [1-9]' /sys/fs/cgroup/$events; then exit 9; fi
  done
  count=$((count + 1))
done
"""
_START = (
    f"while ! mkdir {WORK} {TEMPORARY} 2>/dev/null; do sleep 0.01; done; "
    f'cp -R {_INPUT}/. {WORK} && cd {WORK} && exec "$@"'
)


class DockerSandbox(Sandbox):
    """Runs commands in containers of Docker or podman. A run takes 0.5 to 3 s more than its command.

    Args:
        image: The image, with ``sh``, ``cp``, ``grep``, ``tar``. It is never pulled.
        url: Address of the engine.
        tools: The tools that jobs may ask for: folders of the engine's machine.
        binds: Path of the engine's machine -> path in the container, read-only: further folders.
        runtime: Name of the engine's runtime, such as ``runsc``; its own default if omitted.
        seccomp: Profile of allowed calls: JSON for Docker, a path for podman; the engine's own if omitted.
            That of old engines (Docker before 23, podman 4) allows ``AF_VSOCK``: a container in a
            virtual machine then reaches the machine's host.
        max_parallel: Runs at a time; others wait.
    """

    kind: ClassVar[str] = "docker"

    def __init__(  # noqa: PLR0913  # options, all but one optional
        self,
        image: str,
        *,
        url: str = "unix:///var/run/docker.sock",
        tools: Toolbox | None = None,
        binds: Mapping[str, str] | None = None,
        runtime: str | None = None,
        seccomp: str | None = None,
        max_parallel: int = 4,
    ) -> None:
        self.image = image
        self.tools = tools or Toolbox()
        self._binds = dict(binds or {})
        self._host = {"Runtime": runtime} if runtime else {}
        self._security = [f"seccomp={seccomp}"] if seccomp else []
        self._engine = Engine(url)
        self._places = asyncio.Semaphore(max_parallel)

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        tools = [await asyncio.to_thread(self.tools.find, name) for name in job.tools]
        async with self._places, self._container(job, tools) as container:
            run = _ContainerRun(self._engine, container, job, on_output)
            return await run.result(environment_of(job, tools))

    async def aclose(self) -> None:
        """Close its connections."""
        await self._engine.aclose()

    @asynccontextmanager
    async def _container(self, job: SandboxJob, tools: Sequence[SandboxTool]) -> AsyncGenerator[str, None]:
        body = container_of(job, tools, self.image, self._binds, ("no-new-privileges", *self._security))
        body["HostConfig"] |= self._host
        container = f"agentic-{secrets.token_hex(8)}"
        try:
            await finish(self._create(container, body))
            await self._engine.put(f"/containers/{container}/archive?path={_INPUT}", packed(job.files))
            await self._engine.call("POST", f"/containers/{container}/start")
            yield container
        except EngineError as exc:
            raise SandboxUnavailableError(self.kind, exc.reason) from exc
        finally:
            await finish(self._remove(container))

    async def _create(self, container: str, body: Mapping[str, object]) -> None:
        try:
            await self._engine.call("POST", f"/containers/create?name={container}", body)
        except EngineError as exc:
            next_step = f"pull or build the image {self.image!r}" if exc.status == 404 else ""
            raise SandboxUnavailableError(self.kind, exc.reason, next_step) from exc

    async def _remove(self, container: str) -> None:
        with suppress(EngineError, SandboxUnavailableError):  # it is already gone, or the engine is
            await self._engine.call("DELETE", f"/containers/{container}?force=true&v=true")


def container_of(
    job: SandboxJob,
    tools: Sequence[SandboxTool],
    image: str,
    binds: Mapping[str, str],
    security: Sequence[str],
) -> dict[str, Any]:
    """Return the body of the call that creates the container of a job."""
    limits = job.limits
    folders = dict.fromkeys(_WRITABLE, f"rw,exec,nosuid,nodev,size={limits.disk_bytes}")
    mounts = [(str(source), f"{FOLDER}/{at}") for tool in tools for at, source in tool.mounts]
    first = _FIRST.format(count=int((limits.time_s + MARGIN_S) / _OOM_S), wait=_OOM_S)
    host: dict[str, object] = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": list(security),
        "PidsLimit": limits.process_count + _HELPERS,
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        "Tmpfs": folders,
        "ShmSize": 65_536,
        "IpcMode": "private",
        "AutoRemove": True,
        "Binds": [f"{source}:{target}:ro" for source, target in (*binds.items(), *mounts)],
        # Named, because some engines ask for more than the system allows (podman 4.3).
        "Ulimits": [
            {"Name": "nofile", "Soft": 1024, "Hard": 1024},
            {"Name": "nproc", "Soft": limits.process_count, "Hard": limits.process_count},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
    }
    return {
        "Image": image,
        "Entrypoint": ["/bin/sh", "-c"],
        "Cmd": [first],
        "User": "0:0",
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "NetworkDisabled": True,
        "Volumes": {_INPUT: {}},
        "Labels": {"agentic.sandbox": "run"},
        "HostConfig": host,
    }


class _ContainerRun:
    """The run of a job in its container."""

    def __init__(self, engine: Engine, container: str, job: SandboxJob, on_output: OnOutput | None) -> None:
        self._engine = engine
        self._container = container
        self._job = job
        self._on_output = on_output
        self._output = {1: bytearray(), 2: bytearray()}
        # One for each run: the kernel counts the processes of a user over all containers.
        self._user = str(_FIRST_UID + secrets.randbelow(_UIDS))

    async def result(self, environment: Mapping[str, str]) -> SandboxResult:
        begun = time.monotonic()
        started = await self._prepared(["/bin/sh", "-c", _START, "sh", *self._job.command], environment)
        ended = await self._watched(started)
        wall_s = time.monotonic() - begun
        exit_code = None
        if ended is Ending.EXITED:
            ended, exit_code = await self._end_of(started)
        collected = await self._collected()
        limit = self._job.limits.output_bytes
        return SandboxResult(
            exit_code=exit_code,
            ended=ended,
            stdout=bytes(self._output[1][:limit]).decode("utf-8", "replace"),
            stderr=bytes(self._output[2][:limit]).decode("utf-8", "replace"),
            files=collected.files,
            skipped=collected.skipped,
            wall_s=wall_s,
        )

    async def _prepared(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        """Return the id of a process to start in the container."""
        body = {
            "AttachStdout": True,
            "AttachStderr": True,
            "User": f"{self._user}:{self._user}",
            "WorkingDir": "/",
            "Env": [f"{name}={value}" for name, value in (environment or {}).items()],
            "Cmd": list(command),
        }
        return str((await self._engine.call("POST", f"/containers/{self._container}/exec", body))["Id"])

    async def _watched(self, started: str) -> Ending:
        try:
            async with asyncio.timeout(self._job.limits.time_s):
                async with self._engine.output(
                    f"/exec/{started}/start", {"Detach": False, "Tty": False}
                ) as pieces:
                    async for stream, piece in pieces:
                        if not self._kept(stream, piece):
                            return Ending.OUTPUT
                await self._exited(started)
        except TimeoutError:
            return Ending.TIME
        return Ending.EXITED

    async def _exited(self, started: str) -> None:
        """Wait until the command has ended: Docker ends its output when the command closes it."""
        path = f"/exec/{started}/json"
        with suppress(EngineError):  # the container has ended
            while (await self._engine.call("GET", path))["Running"]:  # noqa: ASYNC110 - it is not our child
                await asyncio.sleep(_LOOK_S)

    def _kept(self, stream: int, piece: bytes) -> bool:
        name: Literal["stdout", "stderr"] = "stderr" if stream == 2 else "stdout"
        kept = self._output[2 if stream == 2 else 1]
        room = self._job.limits.output_bytes - len(kept)
        kept += piece[: max(room, 0)]
        if self._on_output is not None and room > 0:
            self._on_output(name, piece[:room])
        return len(piece) <= room

    async def _end_of(self, started: str) -> tuple[Ending, int | None]:
        """Return why the output ended, and the exit code of a command that has ended by itself."""
        try:
            exit_code = int((await self._engine.call("GET", f"/exec/{started}/json"))["ExitCode"])
            if exit_code != 137:
                return Ending.EXITED, exit_code
            await asyncio.sleep(2 * _OOM_S)  # the first process looks at the memory meanwhile
            state: Any = (await self._engine.call("GET", f"/containers/{self._container}/json"))["State"]
            return (Ending.EXITED, exit_code) if state["Running"] else (Ending.MEMORY, None)
        except EngineError as exc:
            if exc.status not in {404, 409} and "does not exist" not in exc.reason:
                raise
            return Ending.MEMORY, None  # the container has ended, and only its first process does that

    async def _collected(self) -> Collected:
        """End the other processes of the command, and return its files; none if the container has ended."""
        most = self._job.limits.disk_bytes + OVERHEAD_BYTES
        archive = bytearray()
        try:
            await self._called(["/bin/sh", "-c", "kill -9 -1"])
            started = await self._prepared(["tar", "-cf", "-", "-C", WORK, "."])
            async with self._engine.output(
                f"/exec/{started}/start", {"Detach": False, "Tty": False}
            ) as pieces:
                async for stream, piece in pieces:
                    archive += piece if stream == 1 else b""
                    if len(archive) > most:
                        break
        except EngineError:
            return Collected(files={}, skipped=())
        return unpacked_changes(bytes(archive), self._job) if archive else Collected(files={}, skipped=())

    async def _called(self, command: Sequence[str]) -> None:
        started = await self._prepared(command)
        async with self._engine.output(f"/exec/{started}/start", {"Detach": False, "Tty": False}) as pieces:
            async for _ in pieces:
                pass
