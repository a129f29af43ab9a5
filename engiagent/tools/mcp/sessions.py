"""The sessions that clients work in: by name, one call at a time in each, none outgrowing memory.

The protocol's newer requests stand alone, so nothing but a name that the client gives can say
which calls belong together.
"""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from engiagent.tools import Observation, Session
from engiagent.tools.registry import Json, Watch

NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
DEFAULT: Final = "main"
MOST: Final = 32
"""Sessions that are kept; the one that nobody used for longest goes first."""

BEAT: Final = 0.5
"""How often a client that asked for it hears how far a call has come. [s]"""

Report = Callable[[float, str], Awaitable[None]]
"""Tells a client how many seconds a call has worked and how far it has come."""


@dataclass
class _Held:
    session: Session
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass
class Latest:
    """What a working call said last; written by its thread, read by the loop."""

    text: str

    def hear(self, seconds: float, text: str) -> None:
        """Take the newest line."""
        self.text = text


@dataclass
class Sessions:
    """All sessions of a server, in one workspace."""

    root: Path
    _held: "OrderedDict[str, _Held]" = field(default_factory=OrderedDict)

    def names(self) -> list[str]:
        """Return the names of the sessions that are there, the most recently used last."""
        return list(self._held)

    def look(self, name: str) -> Session | None:
        """Return a session that is there, without using it."""
        held = self._held.get(name)
        return None if held is None else held.session

    def _use(self, name: str) -> _Held:
        if name not in self._held:
            idle = [key for key, held in self._held.items() if not held.lock.locked()]
            if len(self._held) >= MOST and idle:
                del self._held[idle[0]]
            self._held[name] = _Held(Session(self.root))
        self._held.move_to_end(name)
        return self._held[name]

    async def call(self, name: str, tool: str, arguments: Json, report: Report) -> Observation:
        """Make a call in a session, on a thread, and tell how far it has come.

        When the client gives up, a solve under way is stopped and the session stays as it was.
        """
        held = self._use(name)
        async with held.lock:
            cancel, latest = threading.Event(), Latest(tool)
            watch = Watch(latest.hear, cancel)
            async with anyio.create_task_group() as group:
                group.start_soon(_beat, report, latest, cancel)
                seen = await anyio.to_thread.run_sync(held.session.call, tool, arguments, watch)
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            return seen


async def _beat(report: Report, latest: Latest, cancel: threading.Event) -> None:
    """Report until the call ends; being cancelled, by whomever, stops a solve under way."""
    started = perf_counter()
    try:
        while True:
            await report(perf_counter() - started, latest.text)
            await anyio.sleep(BEAT)
    finally:
        cancel.set()
