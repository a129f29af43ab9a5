"""What people meet every day: help that teaches, settings, completion, how much is said."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from engiagent.cli.app import app
from engiagent.cli.help import EXAMPLES, tree
from engiagent.cli.settings import effective, strangers
from engiagent.errors import InputError
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_options_problems_and_runs(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = invoke("completion", shell)
    assert script.exit_code == 0
    assert "_ENGIAGENT_COMPLETE" in script.stdout
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/mine").mkdir(parents=True)
    (tmp_path / "runs/mine/run.json").write_text("{}")
    for words, wanted in (
        (["che"], "check"),
        (["run", "--eng"], "--engine"),
        (["run", "--engine", "off"], "offline"),
        (["run", "battery/mer"], "battery/merchant_day"),
        (["runs", "show", "runs/"], "runs/mine"),
    ):
        # Fish says which word is under way, the others which number it has.
        last = words[-1] if shell == "fish" else str(len(words))
        monkeypatch.setenv("COMP_WORDS", "engiagent " + " ".join(words))
        monkeypatch.setenv("COMP_CWORD", last)
        kind = get_completion_class(shell)
        assert kind is not None
        found = kind(app, {}, "engiagent", "_ENGIAGENT_COMPLETE").complete()
        assert wanted in found, (shell, words)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project two folders deep, with a user who has no settings yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project/below"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return tmp_path


def holding(name: str) -> tuple[object, str]:
    return next((e.value, e.source) for e in effective() if e.setting.name == name)


def test_an_option_goes_before_the_environment_a_project_and_the_user(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert holding("gap") == (None, "default")
    own = place / "home/engiagent/engiagent.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[solver]\ngap = 0.3\nseed = 3\n[engine]\nbase_url = 'http://127.0.0.1:1'\n")
    assert holding("gap") == (0.3, str(own))
    project = place / "project/engiagent.toml"
    project.write_text("[solver]\ngap = 0.2\n")
    assert holding("gap") == (0.2, str(project))
    assert holding("seed") == (3, str(own))
    monkeypatch.setenv("ENGIAGENT_GAP", "0.1")
    assert holding("gap") == (0.1, "ENGIAGENT_GAP")
    monkeypatch.setenv("ENGIAGENT_CONFIG", "none")
    assert holding("seed") == (None, "default")
    assert holding("gap") == (0.1, "ENGIAGENT_GAP")
    shown = json.loads(invoke("config", "show", "--json").stdout)["settings"]
    assert [(row["name"], row["value"], row["source"]) for row in shown] == [
        ("gap", 0.1, "ENGIAGENT_GAP")
    ]


def test_settings_reach_the_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGIAGENT_BACKEND", "nobody")
    dry = ("run", "battery/merchant_day", "--json", "-q", "--dry-run")
    assert "nobody" in json.loads(invoke(*dry).stdout)["error"]
    assert json.loads(invoke(*dry, "--backend", "highs").stdout)["ready"]
    # What only a language model has says nothing to the rules that read by default.
    monkeypatch.delenv("ENGIAGENT_BACKEND")
    monkeypatch.setenv("ENGIAGENT_MODEL", "somebody")
    assert invoke(*dry).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[solver]\ngap = 'x'\n", "engiagent.toml:2: solver.gap is of the wrong kind"),
        ("[solver]\nthreads = 1.5\n", "expected a whole number"),
        ("[solver]\nthreads = true\n", "expected a whole number"),
        ("[output]\nquiet = 1\n", "expected true or false"),
        (
            "[solver]\n\ntimelimit = 3\n",
            "engiagent.toml:3: there is no setting solver.timelimit; expected solver.time_limit",
        ),
        ("[budget]\ngap = 3\n", "expected solver.gap"),
        ("gap = 3\n", "engiagent.toml:1: 'gap' stands outside a section"),
        ("[engine]\nbase_url = 'http://evil.example'\n", "may not be set by a project"),
        ("[solver\n", "engiagent.toml:1:8: this is no TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(place: Path, text: str, said: str) -> None:
    (place / "project/engiagent.toml").write_text(text)
    found = invoke("problems", "show", "battery/merchant_day")
    assert found.exit_code == 2
    assert said in found.stderr


def test_a_value_out_of_range_is_told_by_the_option(place: Path) -> None:
    (place / "project/engiagent.toml").write_text("[solver]\ntime_limit = -3\n")
    found = invoke("run", "battery/merchant_day")
    assert found.exit_code == 2
    assert "--time-limit" in found.stderr


def test_variables_are_read_as_their_kind_and_slips_are_shown(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, value in (("1", True), ("no", False), ("Yes", True)):
        monkeypatch.setenv("ENGIAGENT_EXACT", text)
        assert holding("exact") == (value, "ENGIAGENT_EXACT")
    for text in ("maybe", "2"):
        monkeypatch.setenv("ENGIAGENT_EXACT", text)
        with pytest.raises(InputError, match="true or false"):
            effective()
    monkeypatch.delenv("ENGIAGENT_EXACT")
    monkeypatch.setenv("ENGIAGENT_TIMELIMIT", "3")
    assert strangers() == ("ENGIAGENT_TIMELIMIT",)
    assert "ENGIAGENT_TIMELIMIT" in invoke("config", "show").stderr
    monkeypatch.setenv("ENGIAGENT_CONFIG", "no/such/file.toml")
    with pytest.raises(InputError, match="names no file"):
        effective()


def test_quiet_says_nothing_but_errors_and_verbose_tells_stages(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", "battery/merchant_day", "--json", "--dry-run")
    quiet = invoke(*run, "--quiet")
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert json.loads(quiet.stdout)["ready"]
    assert invoke("-q", *run).stderr == ""
    assert invoke("run", "nowhere", "-q").stderr.startswith("engiagent: ")
    told = invoke("-v", *run[:-1]).stderr
    for stage in ("analyse", "compile", "solve", "check", "report"):
        assert re.search(rf"^  {stage}: \d+\.\d\d s", told, re.MULTILINE), stage
    both = invoke("-q", *run, "-v")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    monkeypatch.setenv("ENGIAGENT_VERBOSE", "yes")
    assert invoke(*run, "-q").stderr == ""
    assert "would be solved" in invoke(*run).stderr


def test_a_dry_run_writes_nothing_and_says_what_would_be(place: Path) -> None:
    found = invoke("run", "battery/merchant_day", "--dry-run", "--json", "--out", "there")
    answer = json.loads(found.stdout)
    assert (found.exit_code, answer["ready"], answer["out"]) == (0, True, "there")
    assert answer["program"]["class"] == "MILP"
    assert list(Path.cwd().iterdir()) == []
    missing = invoke("run", "battery/missing_efficiency", "--dry-run", "--json")
    answer = json.loads(missing.stdout)
    assert answer["missing"]
    assert (missing.exit_code, answer["ready"]) == (4, False)
    assert list(Path.cwd().iterdir()) == []


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    from engiagent.cli.page import page

    text = (Path(__file__).parents[2] / "docs/command-line.md").read_text("utf-8")
    assert text == page(), "python -m engiagent.cli.page > docs/command-line.md"
