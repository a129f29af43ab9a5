"""What a hostile script tries, and that none of it has an effect."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from engiagent.run.sandbox.limits import Limits
from engiagent.run.sandbox.running import run_script
from tests.sandbox.support import (
    CONFINED,
    ROOT,
    SCRIPTS,
    WORD,
    as_nobody,
    interpreter_for_nobody,
    launch,
    targets,
)

pytestmark = CONFINED


@pytest.fixture
def open_path(tmp_path: Path) -> Path:
    """Return a folder that everybody can reach."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(0o755)
    return tmp_path


def test_no_attack_has_an_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", WORD)
    with targets(tmp_path) as data:
        result = run_script((SCRIPTS / "attacks.txt").read_text(), data, ["targets.json"], Limits())
    assert result.code == 0, result.output
    found = json.loads(result.output)
    assert found["hits"] == []
    assert found["tried"] > 60
    assert found["threads"] == 8


def test_no_attack_has_an_effect_where_the_script_is_nobody(open_path: Path) -> None:
    python = interpreter_for_nobody()
    if python is None:
        pytest.skip("no user to change to, or no interpreter that it can start")
    with targets(open_path) as data:
        said = launch(SCRIPTS / "attacks.txt", data, before=as_nobody(), python=python)
    assert json.loads(said["output"])["hits"] == []


def test_the_attacks_are_real(tmp_path: Path) -> None:
    """Without Landlock and seccomp many of them succeed, so that their failure says something."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    text = (SCRIPTS / "attacks.txt").read_text()
    kept = (
        "read_a_file_outside",
        "read_the_answers",
        "connect_by_tcp",
        "send_by_udp",
        "fork",
        "connect_to_a_socket_file",
        "connect_to_an_abstract_socket",
        "memory_file",
        "run_a_program",
        "shared_memory",
        "read_through_a_symbolic_link",
        "see_whether_a_process_lives",
    )
    chosen = "hits = [name for name, work in ATTACKS.items() if effect(work)]"
    (scripts / "attacks.txt").write_text(
        text.replace(chosen, chosen.replace("effect(work)", f"name in {kept} and effect(work)"))
    )
    with targets(tmp_path) as data:
        said = launch(scripts / "attacks.txt", data, without=("landlock", "seccomp"), unsafe=True)
    assert said["layers"] == "limits, no_new_privs, !landlock, !seccomp"
    assert set(json.loads(said["output"])["hits"]) == set(kept)


@pytest.mark.parametrize("missing", ["landlock", "seccomp"])
def test_without_a_layer_nothing_is_run_and_it_is_named(tmp_path: Path, missing: str) -> None:
    script = tmp_path / "model.py"
    script.write_text("open('/tmp/never', 'w')")
    said = launch(script, tmp_path, without=(missing,))
    assert said["missing"] == [missing]
    assert f"no {missing}" in said["refused"]
    assert f"!{missing}" in said["layers"]


def test_a_script_does_not_outlive_its_caller(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    mark = f"{tmp_path.name}-{os.getpid()}"
    script.write_text("import time\nopen('begun', 'w')\nwhile True: time.sleep(1)")
    code = (
        "import tempfile\n"
        "from pathlib import Path\n"
        "from engiagent.run.sandbox.limits import Limits\n"
        "from engiagent.run.sandbox.running import run_script\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        f"text = Path({str(script)!r}).read_text()  # {mark}\n"
        "print(run_script(text, None, (), Limits(seconds=30)).reason)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    folder = f"{tmp_path}/engiagent-script-"
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as caller:
        assert begun(tmp_path, folder)
        caller.kill()
    assert not left(folder)


def begun(place: Path, folder: str) -> list[int]:
    """Return the processes of a script once it runs."""
    for _ in range(400):
        if list(place.glob("engiagent-script-*/begun")):
            break
        time.sleep(0.05)
    return processes(folder)


def left(folder: str) -> list[int]:
    """Return the processes of a script that are there when they should have ended."""
    for _ in range(200):
        if not processes(folder):
            return []
        time.sleep(0.05)
    return processes(folder)


def processes(folder: str) -> list[int]:
    """Return the processes that have a folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and folder.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found
