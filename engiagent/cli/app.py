"""The command ``engiagent`` and how everything that can go wrong in it ends."""

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from engiagent import __version__
from engiagent.cli import exit_codes
from engiagent.cli.accept import accept
from engiagent.cli.audit import audit
from engiagent.cli.bench import bench
from engiagent.cli.check import check
from engiagent.cli.completion import completion
from engiagent.cli.config import config, defaults
from engiagent.cli.doctor import doctor
from engiagent.cli.dressing import dress
from engiagent.cli.emit import emit, report
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.explain import explain
from engiagent.cli.finance import finance
from engiagent.cli.importing import import_model
from engiagent.cli.lint import lint
from engiagent.cli.mcp import mcp
from engiagent.cli.memory import memory
from engiagent.cli.new import new
from engiagent.cli.output import print_json, say_error, summary
from engiagent.cli.pareto import pareto
from engiagent.cli.problems import problems
from engiagent.cli.run import run, solve
from engiagent.cli.runs import runs
from engiagent.cli.sandbox import sandbox
from engiagent.cli.schema import schema
from engiagent.cli.sensitivity import sensitivity
from engiagent.cli.study import study
from engiagent.cli.sweep import sweep
from engiagent.cli.trace import trace
from engiagent.cli.view import view
from engiagent.cli.weather import weather
from engiagent.errors import EngiagentError

DEBUG = "ENGIAGENT_DEBUG"


class App(click.Group):
    """A group of commands in which no traceback reaches the user."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with a code of the table."""
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given
        extra["standalone_mode"] = False
        handlers = _stop_on_signals()
        try:
            code = super().main(given, *rest, **extra)
        except click.exceptions.Exit as error:
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = _fail("interrupted", ExitCode.INTERRUPTED, as_json)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            hint = f"\n{context.get_usage()}" if context is not None else ""
            code = _fail(error.format_message(), ExitCode.USAGE, as_json, hint)
        except EngiagentError as error:
            code = _fail(str(error), exit_codes.of_error(error), as_json)
        except BrokenPipeError:
            # The reader has gone; Python must not complain about it at its own exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = ExitCode.FEASIBLE
        except Exception as error:
            code = _fail(_unexpected(error), ExitCode.INTERNAL, as_json)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        sys.exit(int(code or 0))


def _fail(message: str, code: ExitCode, as_json: bool, hint: str = "") -> ExitCode:
    say_error(f"engiagent: {message}{hint}")
    if as_json:
        print_json(summary(error=message))
    return code


def _unexpected(error: Exception) -> str:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
        return f"internal error ({type(error).__name__})"
    with tempfile.NamedTemporaryFile(
        "w", prefix="engiagent-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(error, file=file)
    return f"internal error ({type(error).__name__}); the traceback is in {file.name}"


def _stop_on_signals() -> dict[int, Any]:
    """Let a request to end (SIGTERM, SIGHUP) leave a run folder as Ctrl-C does.

    Returns the handlers that were there before.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        return before

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, interrupt)
    return before


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=exit_codes.table(),
)
@click.version_option(__version__, prog_name="engiagent")
@click.pass_context
def app(context: click.Context) -> None:
    """Engineering problems as text in, optimised schedules with a certificate out.

    With --json a command prints exactly one JSON object to standard output; what is meant for
    people goes to standard error. ENGIAGENT_DEBUG=1 shows the traceback of an internal error.
    """
    context.default_map = defaults(app)


COMMANDS = (
    new,
    run,
    accept,
    audit,
    explain,
    solve,
    study,
    sweep,
    pareto,
    sensitivity,
    check,
    bench,
    emit,
    runs,
    import_model,
    report,
    problems,
    lint,
    memory,
    schema,
    doctor,
    finance,
    weather,
    sandbox,
    trace,
    mcp,
    config,
    completion,
    view,
)
for command in COMMANDS:
    app.add_command(command)
dress(app)
