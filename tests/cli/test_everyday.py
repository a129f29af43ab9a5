"""What people meet every day: help that teaches, the environment, how much is said."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from engiagent.cli.app import app
from engiagent.cli.help import EXAMPLES, tree
from tests.cli.asking import invoke

COMMANDS = {" ".join(path): command for path, command in tree(app)}
HEAVY = (
    *("numpy", "scipy", "pandas", "xarray", "pyomo", "highspy", "casadi", "pint", "pydantic"),
    *("jsonschema", "jinja2", "ruamel", "mcp", "anthropic", "netCDF4", "pyarrow", "tomllib"),
    *("sqlite3", "asyncio"),
)


def test_every_command_teaches_by_examples() -> None:
    assert set(EXAMPLES) == set(COMMANDS), "a command has its examples in cli/examples.py"
    for path, examples in EXAMPLES.items():
        text = invoke(*path.split(), "--help").stdout
        assert "Examples:" in text
        for said, shown in examples:
            assert f"# {said}" in text
            assert shown in text, "an example must fit on a line"


@pytest.mark.parametrize("line", [shown for e in EXAMPLES.values() for _, shown in e])
def test_examples_are_commands_that_there_are(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parse each as it stands, with the files that it names in place; nothing is run."""
    monkeypatch.chdir(tmp_path)
    for part in re.findall(r"engiagent ([^&>)|]+)", line):
        words = shlex.split(part)
        for word in words:
            if re.fullmatch(r"runs/[\w-]+", word):
                (tmp_path / word).mkdir(parents=True, exist_ok=True)
        group: click.Command = app
        context = click.Context(app, info_name="engiagent")
        while isinstance(group, click.Group):
            name, command, words = group.resolve_command(context, words)
            assert command is not None, line
            group, context = command, click.Context(command, info_name=name, parent=context)
        group.make_context(context.info_name, words, parent=context.parent)


def test_help_loads_nothing_heavy_and_is_quick() -> None:
    code = (
        "import sys\nfrom engiagent.cli.app import app\n"
        "try:\n    app.main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    assert done.stderr.strip() == ""


def test_a_run_and_its_check_need_neither_xarray_nor_pandas(tmp_path: Path) -> None:
    assert invoke("new", "battery", tmp_path / "depot").exit_code == 0
    for words in (
        ["run", str(tmp_path / "depot"), "--out", str(tmp_path / "run")],
        ["check", str(tmp_path / "run")],
    ):
        code = (
            "import sys\nfrom engiagent.cli.app import app\n"
            f"try:\n    app.main({words!r})\nexcept SystemExit as end:\n    assert not end.code\n"
            "print(*sorted({'xarray', 'pandas', 'pyarrow'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_an_option_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGIAGENT_CHECK_BACKEND", "nobody")
    check = ("check", "planning/rooftop_pv", "--json", "-q")
    assert "nobody" in json.loads(invoke(*check).stdout)["error"]
    assert invoke(*check, "--backend", "highs").exit_code == 0
    monkeypatch.setenv("ENGIAGENT_CHECK_BACKEND", "highs")
    monkeypatch.setenv("ENGIAGENT_CHECK_TIME_LIMIT", "-3")
    wrong = invoke(*check)
    assert (wrong.exit_code, "--time-limit" in wrong.stderr) == (2, True)


def test_quiet_says_nothing_but_errors_and_verbose_tells_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ("run", "planning/rooftop_pv", "--out", "r", "--force", "--json")
    quiet = invoke(*run, "--quiet")
    assert quiet.stderr == ""
    assert json.loads(quiet.stdout)["verdict"]
    assert invoke("-q", *run).stderr == ""
    assert invoke("run", "nowhere", "-q").stderr.startswith("engiagent: ")
    told = invoke("-v", *run).stderr
    for stage in ("analyse", "compile", "solve", "check", "report"):
        assert re.search(rf"^  {stage}: \d+\.\d\d s", told, re.MULTILINE), stage
    both = invoke("-q", *run, "-v")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    from engiagent.cli.page import page

    text = (Path(__file__).parents[2] / "docs/command-line.md").read_text("utf-8")
    assert text == page(), "python -m engiagent.cli.page > docs/command-line.md"
