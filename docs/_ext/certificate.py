"""The page on certificates: their JSON Schema as tables.

``python docs/_ext/certificate.py > docs/certificate.md`` writes it; a test holds it to the code.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engiagent.verify.certificate import SEAL, certificate_schema
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.verdicts import table as verdict_table

HEAD: Final = """# The format of certificates

Written by `python docs/_ext/certificate.py` from the schema in `engiagent.verify.certificate`,
which `engiagent schema --certificate` prints; a test holds it to the code. What a level looks at
and how close is close enough: [checking.md](checking.md). What a bound rests on:
[optimality.md](optimality.md).

A certificate is one JSON object in canonical form: keys in this order, those of maps sorted, no
time of day, no path. The same inputs give the same bytes.

```console
$ engiagent run problems/battery/merchant_day --out runs/day
$ engiagent check --certificate runs/day/certificate.json
  the stored certificate holds…
```

```json runs/day/certificate.json
"verdict": "certified",
```

A field that is *required* is in every certificate; the others are there where they apply.
"""
TAIL: Final = """## Verdicts

{verdicts}

What the two claims mean, and who may read a text: [checking.md](checking.md).

## The seal

`{seal}` is the SHA-256 of the canonical JSON text of everything else. It finds an accident or an
editor; whoever changes the seal with the content is found out by making the certificate again from
its inputs, whose hashes stand in `inputs`
([decision 0016](decisions/0016-certificates-are-sealed-not-signed.md)).

## Tolerances by name

As they stand in every certificate; [checking.md](checking.md) says what each is for.

| name | value |
|---|---|
{tolerances}
"""


def page() -> str:
    """Return the page."""
    schema = certificate_schema()
    tables = "\n".join(table(title, found) for title, found in objects("Certificate", schema))
    values = "\n".join(f"| `{name}` | {value:g} |" for name, value in TOLERANCES.items())
    return (
        HEAD
        + "\n"
        + tables
        + "\n"
        + TAIL.format(verdicts=verdict_table(), seal=SEAL, tolerances=values)
    )


def objects(title: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every object of a schema that has fields, with what it is called in a heading."""
    if "properties" in schema:
        yield title, schema
        for name, found in schema["properties"].items():
            yield from objects(f"`{name}`", found)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from objects(f"{title}: each of them", schema[part])


def table(title: str, schema: Mapping[str, Any]) -> str:
    """Return the fields of an object as a table."""
    required = set(schema.get("required", ()))
    rows = [
        f"| `{name}` | {kind(found)} | {'yes' if name in required else ''} | {meaning(found)} |"
        for name, found in schema["properties"].items()
    ]
    head = ["| field | type | required | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## {title}", "", *head, *rows, ""])


def kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "items" in schema:
        return f"array of {kind(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map to {kind(schema['additionalProperties'])}"
    if schema.get("pattern") == "^[0-9a-f]{64}$":
        return "64 hexadecimal digits"
    return " or ".join(kinds)


def meaning(schema: Mapping[str, Any]) -> str:
    """Return what a field means, with the keys that an object without fields of its own has."""
    keys = schema.get("required", []) if "properties" not in schema else []
    has = f" Has {', '.join(f'`{key}`' for key in keys)}." if keys else ""
    return f"{schema.get('description', '')}{has}"


if __name__ == "__main__":
    print(page(), end="")
