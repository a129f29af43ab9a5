"""JSON patches, mostly as the appendix of RFC 6902 has them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engiagent.blueprint.patching import PatchError, patched

CASES = YAML(typ="safe").load(Path(__file__).with_name("patches.yaml"))


@pytest.mark.parametrize(("document", "patch", "expected"), CASES["operations"])
def test_operations(document: Any, patch: list[dict[str, Any]], expected: Any) -> None:
    before = repr(document)
    assert patched(document, patch) == expected
    assert repr(document) == before


@pytest.mark.parametrize(("patch", "operation", "words"), CASES["refused"])
def test_what_cannot_be_done(patch: list[dict[str, Any]], operation: int, words: str) -> None:
    document = {"a": [1, 2], "b": 1, "d": {"e": {}}}
    with pytest.raises(PatchError, match=words) as refused:
        patched(document, patch)
    assert refused.value.operation == operation
    assert document == {"a": [1, 2], "b": 1, "d": {"e": {}}}


@pytest.mark.parametrize("target", ["/a/-", "/a/0/0/0/0/0/0/0/0/0/0"])
def test_a_patch_cannot_grow_without_end(target: str) -> None:
    nested: Any = []
    for _ in range(12):
        nested = [nested]
    patch = [{"op": "copy", "from": "/a", "path": target}] * 60
    with pytest.raises(PatchError, match="copied"):
        patched({"a": nested}, patch)


@given(st.dictionaries(st.text(max_size=4), st.integers(), min_size=1, max_size=4), st.data())
def test_every_key_can_be_written_as_a_pointer(
    document: dict[str, int], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(document)))
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    without = patched(document, [{"op": "remove", "path": pointer}])
    assert without == {k: v for k, v in document.items() if k != key}
    back = patched(without, [{"op": "add", "path": pointer, "value": document[key]}])
    assert back == document
