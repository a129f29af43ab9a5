"""Docstrings as Markdown: formulas, references to names, tables, and sections of parameters."""

import re
import textwrap

SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
KEPT = ("Attributes", "Parameters", "Returns")
"""Sections that say what something takes and gives; examples and errors stay in the code."""


def parts(docstring: str) -> tuple[str, dict[str, str]]:
    r"""Return the text of a docstring, and what its sections say.

    >>> parts("A sum.\n\nParameters\n----------\na\n    First. [kW]")
    ('A sum.', {'Parameters': 'a\n    First. [kW]'})
    """
    text, *rest = SECTION.split(docstring)
    return text.strip(), {
        name: body.strip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)
    }


def markdown(text: str) -> str:
    r"""Return text in Markdown.

    >>> markdown("With ``x`` and :math:`y_1` of :mod:`engiagent.models.engines`.")
    'With `x` and $y_1$ of `engines`.'
    >>> print(markdown(".. math:: a = b\n    + c\n\nand so on"))
    $$
    a = b
    + c
    $$
    <BLANKLINE>
    and so on
    """
    text = re.sub(
        r"^\.\. math::((?:.*\n?)(?:\n?(?: {3,}.*\n?))*)", _block, text, flags=re.MULTILINE
    )
    text = re.sub(r":math:`([^`]+)`", lambda found: f"${' '.join(found[1].split())}$", text)
    text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return re.sub(r"\n{3,}", "\n\n", _tables(text)).strip()


def described(section: str) -> list[tuple[str, str]]:
    r"""Return the names of a section with what is said of each.

    >>> described("a, b\n    Powers,\n    at least 0. [kW]\nc\n    A share.")
    [('a, b', 'Powers, at least 0. [kW]'), ('c', 'A share.')]
    """
    found: list[tuple[str, str]] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            found.append((line.strip(), ""))
        elif found:
            name, said = found[-1]
            found[-1] = (name, f"{said} {line.strip()}".strip())
    return [(name, markdown(said)) for name, said in found]


def _block(found: re.Match[str]) -> str:
    first, *more = found[1].splitlines() or [""]
    body = "\n".join(
        line for line in [first.strip(), *textwrap.dedent("\n".join(more)).splitlines()]
    )
    return f"$$\n{body.strip()}\n$$\n\n"


def _tables(text: str) -> str:
    """Return text with simple tables, ``=====  =====``, as Markdown has them."""
    lines, out = text.split("\n"), []
    rules = [n for n, line in enumerate(lines) if re.fullmatch(r"=+(?: +=+)+", line)]
    inside = {a: (b, c) for a, b, c in zip(rules[::3], rules[1::3], rules[2::3], strict=True)}
    skip = -1
    for number, line in enumerate(lines):
        if number in inside:
            middle, skip = inside[number]
            out += _table(line, lines[number + 1 : middle], lines[middle + 1 : skip])
        elif number > skip:
            out.append(line)
    return "\n".join(out)


def _table(rule: str, header: list[str], rows: list[str]) -> list[str]:
    starts = [found.start() for found in re.finditer("=+", rule)]
    spans = list(zip(starts, [*starts[1:], None], strict=True))

    def row(line: str) -> str:
        return "| " + " | ".join(line[a:b].strip() for a, b in spans) + " |"

    return [*map(row, header), "|" + "---|" * len(spans), *map(row, rows)]
