"""The grammar: a whitelist that reads what the language has, and refuses the rest at once."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.grammar import (
    Binary,
    GrammarError,
    Number,
    Ref,
    Text,
    parse,
    parse_binder,
    walk,
)
from tests.pace import soon


def test_brackets_after_a_name_are_indices_and_in_a_label_nothing() -> None:
    node = parse("x1[5] + y['tank 2 [old]']")
    assert isinstance(node, Binary)
    assert node.left == Ref((0, 5), "x1", (Number((3, 4), 5.0, None),))
    assert isinstance(node.right, Ref)
    assert node.right.indices == (Text((10, 24), "tank 2 [old]"),)


def test_binders_are_read_alone() -> None:
    assert parse_binder("t in T").names == ("t",)
    assert parse_binder("(i, j) in A").names == ("i", "j")
    for wrong in ("t of T", "t in", "t in T in U", "x[t] in T", "1 in T", "t not in T"):
        with pytest.raises(GrammarError):
            parse_binder(wrong)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "empty"),
        ("a +", 4, "cannot read this"),
        ("a = b", 3, "write =="),
        ("eval\uff08x\uff09", 5, "is not allowed"),
        ("a | b", 3, "not part of the language"),
        ("~a", 1, "write 'not'"),
        ("a @ b", 3, "not part of the language"),
        ("[x for x in T]", 1, "is not part of the language"),
        ("f'{a}'", 1, "is not part of the language"),
        ("(a := 3)", 2, "is not part of the language"),
        ("x[1:2]", 3, "is not part of the language"),
        ("True", 1, "not a number or a label"),
        ("1j", 1, "not a number or a label"),
        ("1e999", 1, "too large"),
        ("__import__", 1, "is not a name"),
        ("f(x)(y)", 1, "only a function's name can be called"),
        ("open('a')", 1, "unknown function"),
        ("x >= dual(C)[t]", 6, "a dual value (a shadow price) is known only once"),
        ("sqrt(1, 2)", 1, "takes 1 arguments, here are 2"),
        ("'a'[t]", 1, "only names can be indexed"),
        ("sum(x for t in first(T))", 11, "a binder is a name in a set"),
    ],
)
def test_what_is_not_in_the_language_is_refused_at_its_column(
    text: str, column: int, words: str
) -> None:
    with pytest.raises(GrammarError) as caught:
        parse(text)
    assert caught.value.column == column, str(caught.value)
    assert words in str(caught.value)


HOSTILE = {
    "brackets": "(" * 1900 + "x" + ")" * 1900,
    "unclosed brackets": "(" * 3999,
    "minus signs": "-" * 3990 + "x",
    "not": "not " * 900 + "x",
    "mixed signs": "-+" * 1900 + "x",
    "powers": "**".join(["9"] * 1300),
    "attributes": "a" + ".a" * 1900,
    "indices": "x" + "[0]" * 1300,
    "a long sum": "+".join(["x"] * 1900),
    "choices": "a if b else " * 300 + "c",
    "comparisons": "<".join(["a"] * 1900),
    "a long number": "9" * 3999,
    "a long name": "x" * 3999,
    "too long": "x" * 100_000,
    "quotes": "'" * 3999,
    "unit brackets": "5[" * 1900,
    "nested sums": "sum(" * 190 + "x" + " for t in T)" * 190,
    "strings": "'a' " * 900,
    "nul": "x\0y",
    "new lines": "x\n" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_or_read_at_once(name: str) -> None:
    with soon(1.0), suppress(GrammarError):
        list(walk(parse(HOSTILE[name])))


class _Finalised:
    """Garbage whose finaliser is Python: collected amid a parse, it lets other threads run."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(20))


def test_several_threads_parse_at_once() -> None:
    def read(thread: int) -> None:
        for turn in range(150):
            _Finalised()
            parse("+".join(f"a{thread}_{turn}[{term}] * b" for term in range(40)))

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10, 2, 2)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(read, range(4)))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)


@given(
    st.text(alphabet="xyT0123456789.eE+-*/%<>=!()[]{},'\" \n\tsumforiandtse_@~^|&:λ", max_size=60)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        node = parse(text)
    except GrammarError as error:
        columns = [error.column]
    else:
        columns = [part.span[0] + 1 for part in walk(node)]
    assert all(1 <= column <= len(text) + 1 for column in columns)
