"""How far a solve has come, shown in place: an output that is rewritten, a line of a terminal."""

import sys
import threading
from typing import Any, Self, TextIO

from engiagent.notebook import markup
from engiagent.run.folder import StageEvent
from engiagent.run.stages import progress_text
from engiagent.solvers.result import Progress

_WIDTH = 100


def in_notebook() -> bool:
    """Whether a front end that shows HTML listens."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


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
        self._is_notebook = in_notebook()
        self._is_terminal = not self._is_notebook and self._stream.isatty()
        self._dirty = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.update(_Note(""))
            elif self._dirty:
                self._stream.write(f"\r{' ' * _WIDTH}\r")
                self._stream.flush()

    def __call__(self, seen: Progress) -> None:
        """Show what a solver says of itself."""
        self.say(progress_text(seen))

    def stage(self, event: StageEvent) -> None:
        """Show which stage of a run begins, and what it has to say."""
        if event.kind != "end":
            self.say(f"{event.stage} …{' ' + event.text if event.text else ''}")

    def say(self, text: str) -> None:
        """Show a line in place of the one before."""
        line = f"{self._what}: {text}"
        with self._lock:
            if self._is_notebook:
                self._display(line)
            elif self._is_terminal:
                self._stream.write(f"\r{line[:_WIDTH]:<{_WIDTH}}")
                self._stream.flush()
                self._dirty = True

    def _display(self, line: str) -> None:
        if self._handle is None:
            from IPython import display

            show: Any = display.display
            self._handle = show(_Note(line), display_id=True)
        else:
            self._handle.update(_Note(line))


class _Note:
    """A line of text as a notebook and as a console show it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return str(markup.paragraph(self._text))
