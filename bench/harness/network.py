"""A network of the run's own, with one congestion control for every server, client and upstream in it."""

import ctypes
import errno
import os
import subprocess
from pathlib import Path

# The default of most distributions. Another may pace what it sends by timers, also over the loopback.
USUAL = "cubic"
_SETTINGS = Path("/proc/sys/net/ipv4")
_CONTROL = _SETTINGS / "tcp_congestion_control"
_CLONE_NEWNET = 0x40000000


def isolate() -> None:
    """Moves this process, and what it starts from here on, into a network namespace with the loopback alone. After the builds, which may
    need the network. Who is not root stays where they are; `congestion_control` says what is in force, and is kept with the results.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # A namespace may only choose among what the machine allows: for the moment of the choice that has the usual one.
    with _Allowed():
        if libc.unshare(_CLONE_NEWNET) != 0:
            reason = "not root" if os.geteuid() != 0 else errno.errorcode[ctypes.get_errno()]
            print(f"No network of its own ({reason}): all servers have this machine's congestion control, {congestion_control()}.", flush=True)
            return
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        try:
            _CONTROL.write_text(USUAL)
        except OSError as error:
            print(f"{USUAL} cannot be chosen ({error.strerror}): all servers have {congestion_control()}.", flush=True)


def congestion_control() -> str:
    return _CONTROL.read_text().strip()


class _Allowed:
    """Allows the usual control to all, and takes that back. The setting is the machine's: a file opened before the namespace is left."""

    def __enter__(self) -> None:
        self._file: int | None = None
        try:
            self._file = os.open(_SETTINGS / "tcp_allowed_congestion_control", os.O_RDWR)
        except OSError:
            return  # Not root, or not the machine's: then it is as it is.
        self._before = os.pread(self._file, 4096, 0)
        if USUAL.encode() not in self._before.split():
            os.pwrite(self._file, self._before.strip() + f" {USUAL}\n".encode(), 0)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.pwrite(self._file, self._before, 0)
            os.close(self._file)
