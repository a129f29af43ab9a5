"""``engiagent view`` and ``engiagent report`` for a folder of runs, as a user types them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.view.conftest import Put


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_viewer_says_where_it_is_and_ends_when_it_is_told(
    end: signal.Signals, put: Put, tmp_path: Path
) -> None:
    put("a", verdict="certified")
    command = [sys.executable, "-m", "engiagent", "view", "runs", "--port", "0", "--json"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as viewer:
        assert viewer.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = viewer.stdout.readline()
            assert line, viewer.stderr and viewer.stderr.read()
            text += line
        with urlopen(json.loads(text)["view"], timeout=20) as reply:
            assert b"certified" in reply.read()
        viewer.send_signal(end)
        _, said = viewer.communicate(timeout=20)
    assert viewer.returncode == 0
    assert "Traceback" not in said


def test_the_report_of_a_folder_of_runs_is_that_of_a_batch(put: Put, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from engiagent.cli.app import app

    put("a", verdict="certified")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "runs"), "--json"])
    assert result.exit_code == 0, result.output
    assert "Runs in runs" in (tmp_path / "runs" / "report.html").read_text("utf-8")
    assert CliRunner().invoke(app, ["report", str(tmp_path / "nothing")]).exit_code != 0
