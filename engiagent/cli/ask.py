"""``engiagent ask``: a question answered by calls of tools."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget
from engiagent.ask.answers import Answered
from engiagent.ask.asking import PLAN, Inquiry, read_answers
from engiagent.ask.cards import Staff
from engiagent.ask.page import notes
from engiagent.ask.plan import Open, read_plan
from engiagent.ask.planning import PLANNINGS
from engiagent.ask.requests import ModelError
from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import moving_line, print_json, say, say_error, summary
from engiagent.cli.tool import read_value
from engiagent.errors import EngiagentError, InputError
from engiagent.run.folder import RunFolder, read_record
from engiagent.tools.registry import Watch

_CODES = {"answered": ExitCode.FEASIBLE, "partial": ExitCode.UNDECIDED, "open": ExitCode.UNDECIDED}


@click.command(epilog=exit_codes.table())
@click.argument("question", required=False)
@options.folder_option("--session", "The session that the question is about; a new one without it.")
@click.option(
    "--planning",
    type=click.Choice(PLANNINGS),
    help="Tools by name and then arguments (two-stage, the default), all schemas at once, or goals "
    "only and each specialist its calls.",
)
@options.file_option("--plan", "Execute a plan.")
@click.option("--engine", type=click.Choice(["anthropic"]), help="Who plans and answers.")
@click.option("--base-url", metavar="URL", help="A server that speaks the Messages API.")
@click.option("--model", metavar="NAME", help="Who plans and answers, for every specialist.")
@click.option("--max-tokens", type=options.COUNT, help="Of all prompts and replies.")
@click.option(
    "--replay",
    type=options.RUN,
    metavar="DIR",
    help="Answer from the exchanges that an earlier question recorded; asks no model.",
)
@click.option(
    "--answers",
    "answers_file",
    type=options.FILE,
    metavar="FILE",
    help="Values of open arguments, YAML: step.argument or argument: value.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="GROUP",
    help="A group of tools that is not offered, as market; repeatable.",
)
@options.folder_option("--out", "The folder of the answer; a new one below runs/ without it.")
@click.option("--force", is_flag=True, help="Replace an earlier answer in DIR.")
@options.as_json
def ask(
    question: str | None,
    session: Path | None,
    planning: str | None,
    plan: Path | None,
    engine: str | None,
    base_url: str | None,
    model: str | None,
    max_tokens: int | None,
    replay: Path | None,
    answers_file: Path | None,
    without: tuple[str, ...],
    out: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Answer QUESTION by calls of tools that a model plans and specialists make.

    Every figure is taken from a call's answer. The folder of the answer holds the plan, the calls,
    the trace, the recorded exchanges and a page. With --plan or --replay no model is asked.
    """
    before = {} if replay is None else read_record(replay)["asked"]
    hidden = frozenset(without or before.get("without", ()))
    known = None if plan is None else _plan_of(plan, Staff(without=hidden))
    text = question or before.get("question") or (known and known.question)
    if not text:
        raise click.UsageError("QUESTION is missing")
    if known is None and replay is None and engine is None:
        raise click.UsageError("who plans? add --engine anthropic, --plan FILE or --replay DIR")
    way: Any = None if known is not None else planning or before.get("planning") or PLANNINGS[0]
    asking = Asking(model or before.get("model"), base_url, replay=replay)
    if known is None:
        asking.ready()
    given = before.get("answers", {}) | ({} if answers_file is None else read_answers(answers_file))
    asked = {"question": text, "planning": way, "model": asking.model, "answers": given}
    asked["without"] = sorted(hidden)
    folder = RunFolder.create(out, "ask", {"engine": engine, **asked}, force=force)
    with moving_line() as show:
        watch = Watch(show and (lambda seconds, said: show(said)))
        clarify = None if as_json or not sys.stdin.isatty() else clarified
        about: Any = (folder, str(text), way, session, given, clarify, watch, hidden)
        inquiry = Inquiry(*about)
        if known is not None:
            return _finished(folder, lambda: inquiry.by_plan(known), as_json)
        budget = replace(Budget(), tokens=max_tokens)
        return _finished(folder, lambda: inquiry.by_model(asking, budget), as_json)


def _plan_of(path: Path, staff: Staff) -> Any:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the plan cannot be read: {error}", str(path)) from None
    return read_plan(text, str(path), staff)


def clarified(question: Open) -> Any:
    """Ask the user on the terminal; nothing for an empty answer."""
    argument = question.argument
    while text := click.prompt(question.question, default="", show_default=False, err=True):
        try:
            return read_value(argument.schema, argument.unit, text)
        except (InputError, ValueError) as error:
            say(f"  {error}")
    return None


def _finished(folder: RunFolder, work: Callable[[], Answered], as_json: bool) -> int:
    """Do the work, record how it ended, print the answer and return the exit code."""
    try:
        found = work()
    except KeyboardInterrupt:
        folder.finish("interrupted", None, "interrupted")
        raise
    except ModelError as error:
        folder.finish("failed", None, str(error))
        say_error(f"engiagent: {error}")
        if as_json:
            print_json(summary(error=str(error)))
        return int(ExitCode.LIMIT if error.kind == "budget-spent" else ExitCode.ENDPOINT)
    except EngiagentError as error:
        folder.finish("failed", None, str(error))
        raise
    folder.finish("done", found.status, None)
    if as_json:
        print_json({**found.to_dict(), "run": str(folder.path)})
    else:
        _say(found, folder)
    return int(_CODES[found.status])


def _say(found: Answered, folder: RunFolder) -> None:
    if found.prose:
        click.echo(found.prose)
    for item in found.findings:
        unit = "" if item["unit"] in (None, "1") else f" {item['unit']}"
        click.echo(f"  {item['label']}: {item['value']}{unit}  ({item['call']}, {item['path']})")
    for note in notes(found):
        click.echo(f"  {note}")
    say(f"  answer     {folder.path / 'report.html'}, plan {folder.path / PLAN}")
