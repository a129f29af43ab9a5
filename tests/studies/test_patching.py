"""JSON patches, mostly as the appendix of RFC 6902 has them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.patching import PatchError, patched


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux"}],
            {"foo": "bar", "baz": "qux"},
        ),
        (
            {"foo": ["a", "c"]},
            [{"op": "add", "path": "/foo/1", "value": "b"}],
            {"foo": ["a", "b", "c"]},
        ),
        ({"foo": ["a"]}, [{"op": "add", "path": "/foo/1", "value": "b"}], {"foo": ["a", "b"]}),
        ({"foo": ["a"]}, [{"op": "add", "path": "/foo/-", "value": ["b"]}], {"foo": ["a", ["b"]]}),
        ({"foo": 1}, [{"op": "add", "path": "/foo", "value": None}], {"foo": None}),
        ({"baz": 1, "foo": 2}, [{"op": "remove", "path": "/baz"}], {"foo": 2}),
        ({"foo": ["a", "b", "c"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["a", "c"]}),
        ({"foo": 1}, [{"op": "replace", "path": "/foo", "value": 2}], {"foo": 2}),
        (
            {"foo": {"bar": 1}, "qux": {}},
            [{"op": "move", "from": "/foo/bar", "path": "/qux/thud"}],
            {"foo": {}, "qux": {"thud": 1}},
        ),
        (
            {"foo": ["a", "b", "c"]},
            [{"op": "move", "from": "/foo/0", "path": "/foo/2"}],
            {"foo": ["b", "c", "a"]},
        ),
        (
            {"a": [1]},
            [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/-", "value": 2}],
            {"a": [1], "b": [1, 2]},
        ),
        (
            {"a/b": 1, "m~n": 2},
            [{"op": "test", "path": "/a~1b", "value": 1.0}, {"op": "remove", "path": "/m~0n"}],
            {"a/b": 1},
        ),
        ({"a": 1}, [{"op": "replace", "path": "", "value": []}], []),
        (
            {"p": [{"name": "E", "value": 1}, {"constraint_id": "C"}]},
            [{"op": "replace", "path": "/p/E/value", "value": 2}, {"op": "remove", "path": "/p/C"}],
            {"p": [{"name": "E", "value": 2}]},
        ),
    ],
)
def test_operations(document: Any, patch: list[dict[str, Any]], expected: Any) -> None:
    before = repr(document)
    assert patched(document, patch) == expected
    assert repr(document) == before


@pytest.mark.parametrize(
    ("patch", "operation", "words"),
    [
        ([{"op": "remove", "path": "/nowhere"}], 0, "no field 'nowhere'"),
        ([{"op": "test", "path": "/b", "value": True}], 0, "the test fails"),
        (
            [{"op": "add", "path": "/a/0", "value": 5}, {"op": "add", "path": "/a/9", "value": 1}],
            1,
            "no element 9",
        ),
        ([{"op": "add", "path": "/a/01", "value": 1}], 0, "no element '01'"),
        ([{"op": "add", "path": "a", "value": 1}], 0, "starts with '/'"),
        ([{"op": "add", "path": "/b"}], 0, "needs a value"),
        ([{"op": "copy", "path": "/b"}], 0, "needs 'from'"),
        ([{"op": "move", "from": "/d", "path": "/d/e/f"}], 0, "into itself"),
        ([{"op": "add", "path": "/b/c", "value": 1}], 0, "without parts"),
        ([{"op": "remove", "path": ""}], 0, "cannot be removed"),
    ],
)
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
