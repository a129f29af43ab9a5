"""Silence for libraries that print to standard output whatever they are told."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let nothing that a native library prints inside reach standard output.

    It belongs to the whole process, so what other threads print meanwhile is lost as well.
    """
    # CasADi sends what its solvers print through Python, some of them print by themselves.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        _flush()
        try:
            kept = os.dup(1)
        except OSError:  # a process without standard output
            yield
            return
        os.dup2(nowhere.fileno(), 1)
        try:
            with contextlib.redirect_stdout(nowhere):
                yield
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)


def _flush() -> None:
    """Empty the buffers of Python and of the C library."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    if sys.platform != "win32":
        import ctypes

        ctypes.CDLL(None).fflush(None)
