"""Results of checks as JUnit XML, which CI systems show."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from engiagent.cli.checked import CheckResult
from engiagent.cli.exit_codes import MEANINGS, ExitCode
from engiagent.cli.output import clean, item_text
from engiagent.io.files import write_atomic


def write_junit(results: Sequence[CheckResult], path: Path) -> None:
    """Write one test case for each result; unreadable input is an error, the rest a failure."""
    bad = [result for result in results if result.code is not ExitCode.FEASIBLE]
    errors = [result for result in bad if result.error is not None]
    suite = ElementTree.Element(
        "testsuite",
        name="engiagent check",
        tests=str(len(results)),
        failures=str(len(bad) - len(errors)),
        errors=str(len(errors)),
    )
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="engiagent.check", name=clean(result.path)
        )
        if result.error is not None:
            found = ElementTree.SubElement(case, "error", message=clean(result.error))
        elif result.code is not ExitCode.FEASIBLE:
            message = result.line or MEANINGS[result.code]
            found = ElementTree.SubElement(case, "failure", message=clean(message))
        else:
            continue
        items = [*result.violations, *result.open_points]
        found.text = "\n".join(clean(item_text(item)) for item in items)
    text = ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
    write_atomic(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')
