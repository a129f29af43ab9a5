"""Parts of a document as YAML, the way a user writes them."""

from typing import Any

from ruamel.yaml import YAML


def mapping(text: str) -> dict[str, Any]:
    value: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return value


def listing(text: str) -> list[Any]:
    value: list[Any] = YAML(typ="safe", pure=True).load(text)
    return value
