# SPDX-License-Identifier: Apache-2.0
"""Run one command such that it cannot write elsewhere, exhaust memory, or leave processes behind.

A script, run by hipport's own interpreter without its packages; `loaded_python.py` reads it as well, in an interpreter
that may not have hipport. Its first argument is JSON, written by `processes.Box`. The others are the command. The
result goes to a pipe, as JSON: the status, or null after a timeout, and how files were guarded.

Files are guarded by Landlock (Linux 5.13 and later; linux/landlock.h and Documentation/userspace-api/landlock.rst of
Linux 6.12), else by bubblewrap (bwrap(1) of 0.8). Neither needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fnmatch
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time

# Every command of a tree waits for this script to start, so it imports only what it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
# prctl(2).
_PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 38, 36, 24, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
#: capabilities(7): those that root keeps, for reading and writing files of other users. Without the others it cannot
#: set clocks, make devices, raise limits, or inspect other processes.
_KEPT = {"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2, "CAP_FOWNER": 3, "CAP_FSETID": 4}
#: _LINUX_CAPABILITY_VERSION_3 of linux/capability.h.
_CAPABILITY_VERSION = 0x20080522
# System calls added after Linux 5.1 have the same numbers on all processors but Alpha.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
# LANDLOCK_ACCESS_FS_*: writing; removing and making files of all kinds; renaming between folders; truncating; ioctl on
# devices.
_WRITE_FILE, _REFER, _TRUNCATE, _COMMAND_DEVICE = 1 << 1, 1 << 13, 1 << 14, 1 << 15
_CHANGES = sum(1 << bit for bit in range(4, 13))
#: Those that nobody gets, because a device that root makes bypasses all restrictions on folders.
_MAKE_DEVICES = 1 << 6 | 1 << 11
#: Those that apply to a file other than a folder.
_OF_FILES = _WRITE_FILE | _TRUNCATE
#: Abstract sockets of, and signals to, outside processes: Landlock can forbid them from version 6 on (Linux 6.12).
_SCOPES = 1 << 0 | 1 << 1
#: Devices that may be used: no disks, no terminals, no memory of the machine.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "shm", "kfd", "dri", "accel", "nvidia*")
#: Seconds within which all processes that a command left are killed.
_PATIENCE = 20.0


def landlock() -> int:
    """Return the version of Landlock in this kernel; 0 if there is none."""
    version = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1) if _LIBC is not None else 0
    return max(0, int(version))


def own_children() -> None:
    """Make orphans below this process its children, so that `end_children` finds them."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """Kill every process below this one, also those in sessions of their own, and wait for them."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in _below(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _below(first: int) -> list[int]:
    """Return the descendants of a process."""
    children: dict[int, list[int]] = {}
    for number in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{number}/stat", "rb") as file:
            # The name of the program, in parentheses, may contain any character.
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(number))
    found, queue = [], [first]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def guard(box: dict[str, Any]) -> None:
    """Restrict this process and its descendants as `box` says."""
    for what, most in ((resource.RLIMIT_AS, box["memory"]), (resource.RLIMIT_FSIZE, box["file"]),
                       (resource.RLIMIT_CPU, box["cpu"])):  # fmt: skip
        if most:
            # The limit may be lower already, and only root can raise it.
            now = resource.getrlimit(what)[1]
            most = most if now == resource.RLIM_INFINITY else min(most, now)
            resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if _LIBC is not None:
        # Prevents privilege escalation by setuid programs.
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if box["write"] is not None:
        _give_up_privileges()
        if landlock():
            _guard_files(box["write"], landlock())


def _give_up_privileges() -> None:
    """Drop root's capabilities except those in `_KEPT`. Other users have none."""
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    number = 0
    # This set bounds the capabilities of programs that root starts; the first rejected number ends the loop.
    while number in _KEPT.values() or _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    # struct __user_cap_header_struct; two of struct __user_cap_data_struct: effective, permitted, inheritable.
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    had = ctypes.create_string_buffer(24)
    if _LIBC.capget(header, had) == 0:
        kept = sum(1 << bit for bit in _KEPT.values()) & struct.unpack("=6I", had.raw)[1]
        _LIBC.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0))


def devices() -> list[str]:
    """Return the paths in /dev that may be written."""
    there = sorted(os.listdir("/dev"))
    return [f"/dev/{name}" for pattern in _DEVICES for name in fnmatch.filter(there, pattern)]


def _guard_files(writable: list[str], version: int) -> None:
    assert _LIBC is not None
    handled = _WRITE_FILE | _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled |= _COMMAND_DEVICE if version >= 5 else 0
    # struct landlock_ruleset_attr: files; from version 4 on the network; from version 6 on the scopes.
    attributes = struct.pack("=QQQ", handled, 0, _SCOPES)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    # The output goes to a file, which the command may reopen: /dev/stderr.
    printed = [f"/proc/self/fd/{number}" for number in (1, 2)]
    for path in (*writable, *devices(), *printed):
        with contextlib.suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            mode = os.fstat(place).st_mode
            rights = handled & ~_MAKE_DEVICES if stat.S_ISDIR(mode) else handled & _OF_FILES
            if path.startswith("/dev/"):
                rights |= handled & _COMMAND_DEVICE
            else:
                rights &= ~_COMMAND_DEVICE
            if path not in printed or stat.S_ISREG(mode):
                # struct landlock_path_beneath_attr; LANDLOCK_RULE_PATH_BENEATH is 1.
                _call(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
    _call(_RESTRICT_SELF, rules, 0)
    os.close(rules)


def _call(number: int, *arguments: Any) -> int:
    assert _LIBC is not None
    result = int(_LIBC.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def bubblewrap(command: list[str], writable: list[str]) -> list[str]:
    """Return the prefix of a command by which bubblewrap guards its files."""
    words = [command[0], "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--unshare-ipc"]
    for path in devices():
        if path not in ("/dev/shm", "/dev/tty"):  # it has its own
            words += ["--dev-bind", path, path]
    for path in writable:
        if os.path.exists(path):
            words += ["--bind", path, path]
    words += ["--cap-drop", "ALL"]
    for name in _KEPT:
        words += ["--cap-add", name]
    return [*words, "--die-with-parent", "--", *command[1:]]


def _wait(child: int, seconds: float | None, alive: int) -> int | None:
    """Return the status of a child; None after a timeout, or if nobody waits for it any more."""
    until = None if seconds is None else time.monotonic() + seconds
    ended = os.pidfd_open(child) if hasattr(os, "pidfd_open") else -1
    try:
        while True:
            found, status = os.waitpid(child, 0 if ended in (ready := _ready(ended, alive, until)) else os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if alive in ready or (until is not None and time.monotonic() >= until):
                return None
    finally:
        if ended >= 0:
            os.close(ended)


def _ready(ended: int, alive: int, until: float | None) -> list[int]:
    left = None if until is None else max(0.0, until - time.monotonic())
    # A kernel without pidfds is polled.
    left = left if ended >= 0 else min(0.02, 0.02 if left is None else left)
    return select.select([each for each in (ended, alive) if each >= 0], [], [], left)[0]


def _exec(box: dict[str, Any], command: list[str]) -> None:
    """Replace this process by the command, guarded. Returns only by exceptions."""
    os.setsid()
    if box["bubblewrap"]:
        command = bubblewrap([box["bubblewrap"], box["executable"] or command[0], *command[1:]], box["write"])
        box = {**box, "executable": "", "write": None}
    guard(box)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python's handling of these signals is not for the command.
        signal.signal(number, signal.SIG_DFL)
    os.execvp(box["executable"] or command[0], command)


def _give_up(number: int, frame: object) -> None:
    end_children()
    os._exit(128 + number)


def main() -> None:
    """Run the command in the arguments."""
    box, command = json.loads(sys.argv[1]), sys.argv[2:]
    answer, alive = box["answer"], box["alive"]
    for number in (answer, alive):
        os.set_inheritable(number, False)
    own_children()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Ctrl-C reaches all processes of a terminal, but not the command, which has its own session.
        signal.signal(number, _give_up)
    failed, failing = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        try:
            _exec(box, command)
        except BaseException as failure:
            said = {"errno": getattr(failure, "errno", None) or errno.EIO, "why": str(failure)}
            os.write(failing, json.dumps(said).encode())
        os._exit(127)
    os.close(failing)
    problem = os.read(failed, 1 << 16)
    status = _wait(child, box["seconds"], alive)
    if status is None:
        # It may report where it was.
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        if box["grace"]:
            _wait(child, box["grace"], alive)
    end_children()
    os.write(answer, json.dumps({"status": status, "problem": json.loads(problem) if problem else None}).encode())


if __name__ == "__main__":
    main()
