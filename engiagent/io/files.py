"""Files of a problem: read inside one folder only, hash, and write so that no half file remains."""

import hashlib
import os
import secrets
import stat
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError

MAX_BYTES: Final = 200_000_000
"""Default limit of a file's size."""

_MAX_NAME = 240


def inside_parts(relative: str) -> tuple[str, ...]:
    """Return the components of a path that stays inside its folder, written with slashes."""
    problem = _path_problem(relative)
    if problem is not None:
        expected = "the name of a file in the problem's own folder, as 'prices.csv'"
        raise InputError(problem, found=repr(relative[:80]), expected=expected)
    return tuple(relative.split("/"))


def _path_problem(relative: str) -> str | None:
    if not relative.strip():
        return "an empty file name"
    if len(relative) > _MAX_NAME:
        return f"a file name of more than {_MAX_NAME} characters"
    if any(ord(c) < 32 or ord(c) == 127 for c in relative):
        return "a control character in a file name"
    if "://" in relative:
        return "a web address where a file is needed; nothing is fetched from the network"
    if "\\" in relative:
        return "a backslash in a file name; write paths with '/'"
    if relative.startswith(("/", "~")) or relative[1:2] == ":":
        return "an absolute path leaves the problem's folder"
    parts = relative.split("/")
    if ".." in parts:
        return "'..' leaves the problem's folder"
    if "." in parts or "" in parts:
        return "an empty or '.' component in a path"
    return None


def open_inside(folder: Path, relative: str, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file that lies inside ``folder``.

    Every component below the folder is opened without following symbolic links, so that no name
    leads elsewhere, not even when a link is swapped in between two looks. Raises InputError for
    whatever else it is, too; it names no file: who knows where the path is written may add it.
    """
    parts = inside_parts(relative)
    try:
        handle = _open_parts(folder, parts)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{relative} is no regular file", expected="a plain file")
            # One byte more than there is room for tells; a buffer for the limit would cost time.
            data = stream.read(min(status.st_size, max_bytes) + 1)
            if len(data) > status.st_size:  # it grew since
                data += stream.read(max(max_bytes + 1 - len(data), 0))
    except OSError as error:
        raise InputError(_reason(folder, parts, error)) from None
    if len(data) > max_bytes:
        found, expected = f"more than {max_bytes} bytes", f"at most {max_bytes}"
        raise InputError(f"{relative} is too large", found=found, expected=expected)
    return data


def _open_parts(folder: Path, parts: tuple[str, ...]) -> int:
    base = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(part, flags, dir_fd=base)
            os.close(base)
            base = inner
        # Without O_NONBLOCK the open itself would wait for the other end of a pipe.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(parts[-1], flags, dir_fd=base)
    finally:
        os.close(base)


def _reason(folder: Path, parts: tuple[str, ...], error: OSError) -> str:
    name = "/".join(parts)
    path = folder
    if not folder.is_dir():
        return f"the folder {folder} is not there"
    for part in parts:
        path = path / part
        if path.is_symlink():
            return f"{name} is a symbolic link; links are not followed, put the file itself there"
        if not path.exists():
            return f"{name} is not there{_neighbours(path)}"
    return f"{name} cannot be read: {error.strerror or error}"


def _neighbours(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())[:1000]
    except OSError:
        return ""
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def packaged_yaml(package: str, name: str) -> Any:
    """Return what a YAML file of this distribution says."""
    from ruamel.yaml import YAML

    # Not pure: where the parser in C is installed, it is five times as fast.
    return YAML(typ="safe").load(files(package).joinpath(name).read_text("utf-8"))


def sha256_bytes(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that readers see all of it or nothing.

    Text is written in UTF-8 with the newlines it has.

    Raises InputError when the folder is not there or cannot be written to.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
