"""YAML without its traps: no aliases, no merges, no keys that stand twice, no deep nesting."""

from collections.abc import Mapping
from functools import lru_cache
from io import StringIO
from typing import Any, Final

from engiagent.errors import InputError

MAX_NESTING: Final = 40


@lru_cache(maxsize=32)
def load_tree(text: str, file: str) -> Any:
    """Return the nodes of a YAML text, with the marks of line and column that the reader keeps."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _refuse_bombs(text, file)
        reader = YAML(typ="rt")  # the round-trip reader is safe and keeps line and column
        reader.allow_duplicate_keys = False
        return reader.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
        raise InputError(f"no valid YAML: {error.problem}", file, line, column) from None
    except (YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"no valid YAML: {str(error)[:300]}", file) from None


def loads_yaml(text: str, file: str) -> Any:
    """Return the plain values of a YAML text; InputError with line and column."""
    return plain(load_tree(text, file))


def dump_yaml(value: Any) -> str:
    """Return plain values as the text of a YAML file, in their order."""
    from ruamel.yaml import YAML  # here, since every run imports this package

    out = StringIO()
    writer = YAML(pure=True)
    writer.width = 1000
    writer.dump(value, out)
    return out.getvalue()


def plain(value: Any) -> Any:
    """Return plain Python values without the marks of the YAML reader."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return str(value)


def _refuse_bombs(text: str, file: str) -> None:
    """Look at the events of a text that could hold aliases or nests, before anything is built."""
    if "&" not in text and "<<" not in text and not _may_nest(text):
        return
    from ruamel.yaml import YAML
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

    depth = 0
    for event in YAML(typ="rt").parse(text):
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InputError("aliases and merges are not allowed", file, line)
        if isinstance(event, ScalarEvent) and event.value == "<<" and event.style is None:
            raise InputError("aliases and merges are not allowed", file, line)
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MAX_NESTING:
                raise InputError(f"YAML nested deeper than {MAX_NESTING}", file, line)
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _may_nest(text: str) -> bool:
    """Whether brackets, list marks or indents could nest deeper than is allowed."""
    if text.count("[") + text.count("{") > MAX_NESTING:
        return True
    if max((line.count("- ") for line in text.split("\n")), default=0) > MAX_NESTING // 2:
        return True
    indents = [len(line) - len(line.lstrip(" ")) for line in text.split("\n")]
    return max(indents, default=0) >= MAX_NESTING
