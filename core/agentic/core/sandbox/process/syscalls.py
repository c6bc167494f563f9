"""The calls of the kernel that a command in a sandbox cannot make, as a seccomp filter.

Namespaces and limits leave some ways open, which the filter closes: memory that no limit counts
(``memfd_create``; shared memory, semaphores and messages of System V; large buffers of sockets), sockets
that no network namespace holds (``AF_VSOCK`` reaches the host of a virtual machine), and parts of the kernel
that ordinary programs do not need and that have had many faults.
"""

from __future__ import annotations

import errno
import platform
import struct

from agentic.core.sandbox.errors import SandboxUnavailableError

# From <asm/unistd_64.h> and <asm-generic/unistd.h>.
_REFUSED = {
    "x86_64": {
        "shmget": 29, "semget": 64, "msgget": 68, "ptrace": 101, "pivot_root": 155, "mount": 165,
        "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175, "delete_module": 176,
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
        "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320,
        "bpf": 321, "userfaultfd": 323,
    },
    "aarch64": {
        "umount2": 39, "mount": 40, "pivot_root": 41, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "ptrace": 117, "reboot": 142, "msgget": 186, "semget": 190, "shmget": 194,
        "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "perf_event_open": 241,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
        "finit_module": 273, "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
    },
}  # fmt: skip
# The same numbers on all machines: 424 and above are common.
_REFUSED_EVERYWHERE = (
    425,
    426,
    427,
    428,
    429,
    430,
    431,
    432,
    433,
    442,
    447,
)  # io_uring, new mounts, secret memory
_CLONE3 = 435
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKETS = {"x86_64": (41, 53), "aarch64": (198, 199)}  # socket, socketpair
_SETSOCKOPT = {"x86_64": 54, "aarch64": 208}
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_FIRST_X32 = 0x40000000
_NEW_USER = 0x10000000
_DOMAINS = (1, 2, 10, 16)  # unix, inet, inet6, netlink
_SOL_SOCKET = 1
_BUFFERS = (7, 8)  # SO_SNDBUF, SO_RCVBUF

_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = (
    0,
    4,
    16,
    24,
    32,
)  # in seccomp_data
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_FAIL = 0x00050000


def seccomp_filter(machine: str | None = None) -> bytes:
    """Return the filter as a program of the kernel (``struct sock_filter``).

    Args:
        machine: ``x86_64`` or ``aarch64``; this one's if omitted.

    Raises:
        SandboxUnavailableError: The numbers of the calls are not known for this machine.
    """
    machine = machine or platform.machine()
    if machine not in _ARCH:
        raise SandboxUnavailableError(
            "process", f"its system call filter does not support machine {machine!r}"
        )
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, _ARCH[machine], 1, 0), _step(_RETURN, _KILL)]
    steps.append(_step(_LOAD, _NUMBER))
    if machine == "x86_64":
        steps += [_step(_ABOVE, _FIRST_X32, 0, 1), _step(_RETURN, _FAIL | errno.ENOSYS)]
    for number in (*_REFUSED[machine].values(), *_REFUSED_EVERYWHERE):
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _FAIL | errno.EPERM)]
    # Its arguments are in memory, where no filter reads them; libraries then use `clone`.
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _FAIL | errno.ENOSYS)]
    steps += _refused_clone(_CLONE[machine])
    steps += _limited_sockets(_SOCKETS[machine])
    steps += _ignored_buffers(_SETSOCKOPT[machine])
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def _refused_clone(number: int) -> list[bytes]:
    """Refuse new user namespaces."""
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_BITS, _NEW_USER, 0, 1),
        _step(_RETURN, _FAIL | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _limited_sockets(numbers: tuple[int, int]) -> list[bytes]:
    """Refuse sockets of unusual domains."""
    one, other = numbers
    allowed = [_step(_EQUAL, domain, len(_DOMAINS) - place, 0) for place, domain in enumerate(_DOMAINS)]
    return [
        _step(_EQUAL, one, 1, 0),
        _step(_EQUAL, other, 0, len(allowed) + 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        *allowed,
        _step(_RETURN, _FAIL | errno.EAFNOSUPPORT),
        _step(_RETURN, _ALLOW),
    ]


def _ignored_buffers(number: int) -> list[bytes]:
    """Let requests for large buffers of sockets succeed without an effect: programs need none."""
    return [
        _step(_EQUAL, number, 0, 7),
        _step(_LOAD, _SECOND_ARGUMENT),
        _step(_EQUAL, _SOL_SOCKET, 0, 4),
        _step(_LOAD, _THIRD_ARGUMENT),
        *(_step(_EQUAL, option, len(_BUFFERS) - 1 - place, place) for place, option in enumerate(_BUFFERS)),
        _step(_RETURN, _FAIL),
        _step(_RETURN, _ALLOW),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
