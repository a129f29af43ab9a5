"""How far a solve has come, shown in place: an output that is rewritten, a line of a terminal."""

import sys
import threading
from typing import Any, Self, TextIO

from engiagent.notebook import markup
from engiagent.run.folder import StageEvent
from engiagent.run.stages import progress_text
from engiagent.solvers.result import Progress

_WIDTH = 100


class Shown:
    """Tells how far a piece of work has come while it lasts.

    In a notebook one output is rewritten, and taken back at the end; on a terminal one line of the
    standard error is. Elsewhere nothing is said, so that logs stay clean.

    ``what``: what goes on, as ``merchant_day``; ``stream``: in place of the standard error.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()
        self._handle: Any = None
        shell = sys.modules.get("IPython")
        running = None if shell is None else shell.get_ipython()
        self._is_notebook = running is not None and hasattr(running, "kernel")
        self._is_terminal = not self._is_notebook and self._stream.isatty()
        self._dirty = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.update(_note(""), raw=True)
            elif self._dirty:
                self._stream.write(f"\r{' ' * _WIDTH}\r")
                self._stream.flush()

    @property
    def observers(self) -> dict[str, Any]:
        """What a run tells of its stages and of its solver, by keyword."""
        return {"on_event": self._stage, "on_progress": self}

    def __call__(self, seen: Progress) -> None:
        """Show what a solver says of itself."""
        self.say(progress_text(seen))

    def _stage(self, event: StageEvent) -> None:
        if event.kind != "end":
            self.say(f"{event.stage} …{' ' + event.text if event.text else ''}")

    def say(self, text: str) -> None:
        """Show a line in place of the one before."""
        line = f"{self._what}: {text}"
        with self._lock:
            if self._handle is not None:
                self._handle.update(_note(line), raw=True)
            elif self._is_notebook:
                from IPython import display

                show: Any = display.display
                self._handle = show(_note(line), raw=True, display_id=True)
            elif self._is_terminal:
                self._stream.write(f"\r{line[:_WIDTH]:<{_WIDTH}}")
                self._stream.flush()
                self._dirty = True


def _note(text: str) -> dict[str, str]:
    """Return a line of text as a console and as a notebook show it."""
    return {"text/plain": text, "text/html": str(markup.paragraph(text))}
