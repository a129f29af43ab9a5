"""Text of a model file: plain or gzip, of a limited size, with places for messages."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engiagent.errors import InputError

MAX_BYTES: Final = 100_000_000
"""Largest file, unpacked."""

SUFFIXES: Final = (".lp", ".mps")


@dataclass(frozen=True)
class SourceText:
    """The lines of a model file under the name that messages use."""

    file: str
    lines: tuple[str, ...]

    def error(
        self,
        line: int,
        message: str,
        *,
        column: int | None = None,
        found: str | None = None,
        expected: str | None = None,
    ) -> InputError:
        """Return an error at a line, counted from 1."""
        shown = None if found is None else found if len(found) <= 60 else f"{found[:57]}..."
        return InputError(message, self.file, line, column, shown, expected)


def form_of(path: Path) -> str:
    """Return ``lp`` or ``mps`` for a file name, with or without ``.gz``.

    Raises
    ------
    InputError
        For any other name.
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix[1:]
    raise InputError(
        "it is not clear in which format the model is written",
        path.name,
        found=repr(path.suffix or path.name),
        expected="a name that ends in .lp, .mps, .lp.gz or .mps.gz",
    )


def read_source(path: Path) -> SourceText:
    """Return the lines of a model file.

    Raises
    ------
    InputError
        When the file is absent, no regular file, too large, cut off, or no text.
    """
    name = path.name
    if path.exists() and not path.is_file():
        raise InputError("this is no regular file", name, expected="an LP or MPS file")
    try:
        with open(path, "rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            # Reading one byte more than allowed stops what unpacks without end.
            data = (gzip.GzipFile(fileobj=stream) if packed else stream).read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError("the gzip file is damaged or cut off", name) from None
    except OSError as error:
        raise InputError(f"cannot read the model: {error.strerror or error}", name) from None
    if len(data) > MAX_BYTES:
        raise InputError("the model is too large", name, expected=f"at most {MAX_BYTES} bytes")
    return SourceText(name, _lines(data, name))


def source_of(text: str, file: str = "model") -> SourceText:
    """Return the lines of a text."""
    return SourceText(file, tuple(line.rstrip("\r") for line in text.split("\n")))


def _lines(data: bytes, name: str) -> tuple[str, ...]:
    zero = data.find(b"\0")
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        raise InputError(
            "this is no text", name, line, found="a zero byte", expected="an LP or MPS file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what old files are in; it never fails
    return source_of(text, name).lines
