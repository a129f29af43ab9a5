"""What every command has in common: examples in its help, and how much it says."""

from collections.abc import Iterator, Mapping
from typing import Final

import click
from click.core import ParameterSource

from engiagent.cli.output import LOUDNESS

Example = tuple[str, str]

EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = {
    "": (
        (
            "take a worked problem to a certified schedule and a report",
            "engiagent run battery/merchant_day",
        ),
        (
            "start a problem of your own, and see what is still missing",
            "engiagent new battery depot && engiagent audit depot",
        ),
        (
            "check a schedule that another tool made",
            "engiagent check depot/problem.md --solution schedule.csv",
        ),
        ("look at what was run", "engiagent runs list"),
    ),
    "accept": (
        (
            "read this text, and any with other numbers, by rule from now on",
            "engiagent accept runs/depot-20260102-101500",
        ),
    ),
    "run": (
        ("a worked problem, by its name", "engiagent run battery/merchant_day"),
        (
            "your own file, with a value that its text does not give",
            "engiagent run depot/problem.md --set battery.charge_efficiency=0.95",
        ),
        ("what would be done, without doing it", "engiagent run depot --dry-run"),
        (
            "let a language model read it, for at most half a dollar",
            "engiagent run depot --engine anthropic --max-cost 0.5",
        ),
        ("go on with a run that was cut", "engiagent run --resume runs/depot-20260102-101500"),
        (
            "for a script: one JSON object, no other words",
            "engiagent run depot --json --quiet --out runs/depot",
        ),
    ),
    "audit": (
        ("is everything there, and can it hold?", "engiagent audit depot/problem.md"),
        (
            "with a value that is not in the text",
            "engiagent audit depot --set battery.charge_efficiency=0.95",
        ),
        (
            "fail a pipeline on numbers that look like slips",
            "engiagent audit depot --fail-on suspicious",
        ),
    ),
    "explain": (
        (
            "why a problem has no plan, and the least change that would help",
            "engiagent explain battery/market_hall_infeasible",
        ),
        ("what holds the plan of a run back", "engiagent explain runs/depot"),
    ),
    "solve": (
        ("a blueprint, to a checked schedule", "engiagent solve blueprint.json --out runs/mine"),
        (
            "with another solver and a wider gap",
            "engiagent solve blueprint.json --backend scip --gap 0.01 --time-limit 60",
        ),
        ("which solver would get it, and why", "engiagent solve blueprint.json --dry-run"),
    ),
    "study": (("the cases of a report", "engiagent study cases blueprint.json"),),
    "study cases": (
        (
            "the cases and sweeps that the blueprint's report asks for",
            "engiagent study cases blueprint.json --out studies/mine",
        ),
    ),
    "study sweep": (
        (
            "three capacities, each solved",
            "engiagent study sweep battery/merchant_day --vary E_max=100,200,400[kWh]",
        ),
    ),
    "study pareto": (
        (
            "the front between cost and emissions of a blueprint",
            "engiagent study pareto blueprint.json --goal co2=min:emissions --points 12",
        ),
    ),
    "study sensitivity": (
        (
            "what moves the objective most, ten per cent either way",
            "engiagent study sensitivity battery/merchant_day --range 10",
        ),
    ),
    "check": (
        ("a run again, from what its folder holds", "engiagent check runs/depot"),
        (
            "somebody's schedule, whose columns have other names",
            "engiagent check depot/problem.md --solution plan.csv --map battery.charge=P_ch",
        ),
        ("a corpus in a pipeline", "engiagent check problems/ --junit report.xml --github"),
        (
            "that a certificate is what the check gives",
            "engiagent check --certificate runs/depot/certificate.json",
        ),
    ),
    "bench": (("a suite of problems, engines and repetitions", "engiagent bench suite.yaml"),),
    "bench suite": (
        ("the same, with results elsewhere", "engiagent bench suite suite.yaml --out results"),
    ),
    "bench recorded": (
        ("replay every recorded exchange with a language model", "engiagent bench recorded"),
    ),
    "bench messages": (
        (
            "over HTTP, against a server that knows the experts' answers",
            "engiagent bench messages --quick",
        ),
    ),
    "emit": (
        (
            "a Pyomo script that runs without engiagent",
            "engiagent emit blueprint.json --to pyomo --output model.py",
        ),
        ("an LP file for another solver", "engiagent emit blueprint.json --to lp > model.lp"),
    ),
    "import": (("a model from another tool", "engiagent import model.mps --out blueprint.json"),),
    "report": (
        ("the page of a run again", "engiagent report runs/depot"),
        ("a page of all runs below runs/", "engiagent report runs"),
    ),
    "view": (
        ("the runs below runs/ in a browser", "engiagent view"),
        ("another folder, on another port", "engiagent view results --port 9000 --open"),
    ),
    "problems": (("what there is", "engiagent problems list"),),
    "problems list": (("as data", "engiagent problems list --json"),),
    "problems show": (("one of them", "engiagent problems show battery/merchant_day"),),
    "lint": (
        ("names, shapes, units and unused data of a blueprint", "engiagent lint blueprint.json"),
        ("what a finding means", "engiagent lint --explain EB201"),
        (
            "for a code-scanning service",
            "engiagent lint blueprints/ --format sarif --out lint.sarif",
        ),
    ),
    "memory": (("what runs have learnt about repairs", "engiagent memory show"),),
    "memory show": (("as data", "engiagent memory show --json"),),
    "memory clear": (("forget it all, without being asked", "engiagent memory clear --yes"),),
    "schema": (
        ("all that there are", "engiagent schema --list"),
        ("of blueprints, for an editor that completes", "engiagent schema blueprint > bp.json"),
        ("of what run --json prints", "engiagent schema outcome"),
        ("the reference of the language", "engiagent schema --reference"),
    ),
    "doctor": (("is everything installed, and does a solve work?", "engiagent doctor"),),
    "finance": (
        ("what a capital costs a year", "engiagent finance annuity 50000 --rate 0.05 --years 15"),
    ),
    "finance annuity": (
        ("a capital as equal payments", "engiagent finance annuity 50000 --rate 0.05 --years 15"),
    ),
    "finance npv": (
        ("what flows are worth today", "engiagent finance npv --rate 0.05 -- -1000 600 600"),
    ),
    "finance irr": (
        ("the rate at which they are worth nothing", "engiagent finance irr -- -1000 600 600"),
    ),
    "finance battery": (
        (
            "what a battery may cost to return ten per cent",
            "engiagent finance battery prices.csv#price --hours 2 --round-trip 0.88 --target 0.1 "
            "--years 12",
        ),
    ),
    "finance tariff": (
        (
            "put a tariff into a blueprint",
            "engiagent finance tariff blueprint.json rate.json --imported grid_import --time T",
        ),
    ),
    "weather": (
        (
            "a year's weather along the steps of a plan",
            "engiagent weather site.epw --start 2026-01-01T00:00 --step 1 --periods 24 "
            "--output weather.csv",
        ),
    ),
    "sandbox": (("can this machine confine a script?", "engiagent sandbox probe"),),
    "sandbox probe": (("as data", "engiagent sandbox probe --json"),),
    "sandbox run": (
        (
            "a script that writes a schedule, then check it",
            "engiagent sandbox run plan.py depot/problem.md --time-limit 60",
        ),
    ),
    "trace": (("who did what in a run, and why", "engiagent trace runs/depot"),),
    "mcp": (
        ("for a desktop client, over standard input and output", "engiagent mcp --workspace plans"),
        ("over HTTP on this machine", "engiagent mcp --workspace plans --http 127.0.0.1:8765"),
    ),
    "completion": (
        ("bash", 'eval "$(engiagent completion bash)"'),
        ("zsh", "engiagent completion zsh > ~/.zfunc/_engiagent"),
        ("fish", "engiagent completion fish > ~/.config/fish/completions/engiagent.fish"),
    ),
    "config": (("what is set, and where it comes from", "engiagent config show"),),
    "config show": (
        ("every setting, also those that nobody touched", "engiagent config show --all"),
        ("with one from the environment", "ENGIAGENT_TIME_LIMIT=60 engiagent config show"),
    ),
    "runs": (("what was run, the latest first", "engiagent runs list"),),
    "runs list": (
        (
            "only what failed or was cut",
            "engiagent runs list --state failed --state interrupted --state stopped",
        ),
        ("another folder, as data", "engiagent runs list results --json"),
    ),
    "runs show": (("one run on a page of text", "engiagent runs show runs/depot"),),
    "runs resume": (("go on where it was cut", "engiagent runs resume runs/depot"),),
    "runs compare": (
        ("what two runs differ in", "engiagent runs compare runs/before runs/after"),
        (
            "and a page with their series in one chart",
            "engiagent runs compare runs/before runs/after --html before-after.html",
        ),
    ),
    "runs clean": (
        ("what would be removed", "engiagent runs clean --dry-run"),
        ("all but the latest five of each problem", "engiagent runs clean --keep 5 --yes"),
        ("what never ended well", "engiagent runs clean --state failed --state stopped --yes"),
    ),
    "new": (
        ("asked step by step, on a terminal", "engiagent new"),
        ("a battery behind a meter, in a new folder", "engiagent new battery depot"),
        ("with your own values", "engiagent new battery depot --set capacity=400 --set power=150"),
        ("what can be started from", "engiagent new --list"),
    ),
}


def dress(command: click.Command, path: tuple[str, ...] = ()) -> None:
    """Give a command, and those below it, examples and the options --quiet and --verbose."""
    command.epilog = ending(" ".join(path), command.epilog)
    if not isinstance(command, click.Group) or not path:
        command.params += [_quiet(), _verbose()]
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            dress(below, (*path, name))


def tree(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a group and every command below it, with the words that call it."""
    yield above, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from tree(command, (*above, name))
        else:
            yield (*above, name), command


def ending(path: str, epilog: str | None) -> str | None:
    """Return what stands below the options of a help page: examples, then what was there."""
    parts = [] if epilog is None else [epilog]
    examples = EXAMPLES.get(path, ())
    if examples:
        lines = [line for said, shown in examples for line in (f"  # {said}", f"  {shown}")]
        parts.insert(0, "Examples:\n\n\b\n" + "\n".join(lines))
    return "\n\n".join(parts) or None


def _quiet() -> click.Option:
    return _loudness(["-q", "--quiet"], "quiet", "Say nothing but errors; results still come.")


def _verbose() -> click.Option:
    return _loudness(["-v", "--verbose"], "verbose", "Tell every stage as it goes.")


def _loudness(names: list[str], word: str, said: str) -> click.Option:
    def choose(context: click.Context, option: click.Parameter, given: bool) -> None:
        if not given:
            return
        before, was_said = context.meta.get(LOUDNESS, (word, False))
        said = context.get_parameter_source(word) is not ParameterSource.DEFAULT_MAP
        if before != word and said and was_said:
            raise click.UsageError("--quiet and --verbose exclude each other", context)
        if said or not was_said:
            context.meta[LOUDNESS] = (word, said)

    return click.Option(names, is_flag=True, expose_value=False, callback=choose, help=said)
