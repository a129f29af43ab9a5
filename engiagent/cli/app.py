"""The command ``engiagent`` and how everything that can go wrong in it ends."""

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, Final, NoReturn

import click

from engiagent import __version__
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.help import dress
from engiagent.cli.output import print_json, say_error, summary
from engiagent.errors import EngiagentError

DEBUG = "ENGIAGENT_DEBUG"


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "new": ("problems", "Begin a problem in FOLDER from TEMPLATE."),
    "accept": ("accept", "Store the reading of a run beside its problem."),
    "run": ("run", "Take PROBLEM to a certified schedule."),
    "audit": ("explain", "Say whether PROBLEM gives enough to be solved, and can hold."),
    "explain": ("explain", "Say why SOURCE has no plan, no best plan, or just this one."),
    "solve": ("run", "Solve BLUEPRINT, a JSON file, and check the schedule."),
    "study": ("study", "Solve a problem many times: cases, sweep, pareto or sensitivity."),
    "fleet": ("fleet", "Plan many assets of one template, or verify a fleet's folder."),
    "control": ("control", "Control PLANT in closed loop: plan, apply, measure, plan again."),
    "identify": ("identify", "Identify a model from DATA, a table of measurements."),
    "simulate": ("simulate", "Run PLANT, a plant file or one of a simulator, under a controller."),
    "check": ("check", "Check schedules, runs, blueprints or a whole corpus."),
    "bench": ("bench", "Measure engiagent itself."),
    "emit": ("exchange", "Write BLUEPRINT in a form that other tools read."),
    "runs": ("runs", "List runs and compare some."),
    "import": ("exchange", "Read MODEL, an LP or MPS file, into a blueprint."),
    "report": ("exchange", "Write the report of a run, or of a folder of runs, again."),
    "problems": ("problems", "Look at the problems that come with engiagent."),
    "lint": ("lint", "Analyse blueprints without solving them."),
    "schema": ("schema", "Print the JSON Schema of NAME."),
    "doctor": ("doctor", "Look at the solvers and the machine, and try a solve."),
    "finance": ("finance", "Compute with money over time; rates are fractions a year."),
    "weather": ("weather", "Align the weather of FILE, an EPW or TMY3 file, with a horizon."),
    "trace": ("trace", "Show the turns of RUN: which agent, why, and how it went."),
    "ask": ("ask", "Answer QUESTION by calls of tools that a model plans."),
    "tool": ("tool", "Call one tool, as NAME KEY=VALUE; --list shows them."),
    "mcp": ("tool", "Offer engiagent's tools over the Model Context Protocol."),
}
"""By name: the module below :mod:`engiagent.cli` that has the command, and its line in the help."""


class App(click.Group):
    """A group of commands in which no traceback reaches the user.

    A command is imported when it is called, since most of them load solvers or the report: its own
    module can import what it needs at its top.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, None where there is none."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(f"engiagent.cli.{COMMANDS[cmd_name][0]}")
            name = {"import": "import_model"}.get(cmd_name, cmd_name)
            command = getattr(module, name)
            dress(command, (cmd_name,))
            self.add_command(command, cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

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
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "auto_envvar_prefix": "ENGIAGENT",
    },
    epilog=exit_codes.table(),
)
@click.version_option(__version__, prog_name="engiagent")
def app() -> None:
    """Engineering problems as text in, optimised schedules with a certificate out.

    With --json a command prints exactly one JSON object to standard output; what is meant for
    people goes to standard error. ENGIAGENT_DEBUG=1 shows the traceback of an internal error.
    """


dress(app)
