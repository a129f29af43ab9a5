"""Progress for people, on standard error: a line that moves on a terminal, or lines if asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engiagent.cli.output import clean, console, loudness, say
from engiagent.run.folder import StageEvent
from engiagent.run.stages import progress_text
from engiagent.solvers.result import Progress

EVERY = 5.0
"""How often --verbose tells how far a solver has come. [s]"""

OnStage = Callable[["StageEvent"], None]
OnSolve = Callable[["Progress"], None]


@contextmanager
def observers() -> Iterator[tuple[OnStage | None, OnSolve | None]]:
    """Give observers of a run: none when nobody looks, a moving line on a terminal."""
    if loudness() == "verbose":
        yield _stage_line, _solve_lines()
        return
    with moving_line() as show:
        if show is None:
            yield None, None
            return

        def on_event(event: StageEvent) -> None:
            if event.kind == "start":
                show(f"{event.stage} …")

        def on_progress(progress: Progress) -> None:
            show(progress_text(progress))

        yield on_event, on_progress


@contextmanager
def moving_line() -> Iterator[Callable[[str], None] | None]:
    """Give a function that replaces a line on the terminal; None without one, or when quiet."""
    screen = console()
    if not screen.is_terminal or loudness() == "quiet":
        yield None
        return
    with screen.status("starting") as status:
        yield lambda text: status.update(clean(text))


def _stage_line(event: StageEvent) -> None:
    if event.kind == "start":
        say(f"  {event.stage} …")
    elif event.kind == "end":
        ended = f", {event.text}" if event.text else ""
        say(f"  {event.stage}: {event.seconds or 0.0:.2f} s{ended}")
    else:
        say(f"  {event.stage}: {event.text}")


def _solve_lines() -> OnSolve:
    """Return an observer that says a line now and then."""
    last = -EVERY

    def on_progress(progress: Progress) -> None:
        nonlocal last
        if progress.elapsed - last < EVERY:
            return
        last = progress.elapsed
        say(f"  {progress_text(progress)}")

    return on_progress
