"""The page of all JSON forms, written from their schemas: ``docs/json-schemas.md``."""

from collections.abc import Iterator, Mapping

from engiagent.io.schemawords import Json, kind_of
from engiagent.tools.schemas import PRINTED, STORED, Form

_HEAD = """\
# JSON forms

Every JSON object that `engiagent` prints with `--json` or writes into a file says in its field
`schema` which form it has: `engiagent-NAME/VERSION`. `engiagent schema NAME` prints the JSON Schema
(draft 2020-12).

* With `--json` exactly one object goes to standard output; what is meant for people goes to
  standard error, and nothing but errors does with `--quiet`.
* Whatever command fails prints an `outcome` with `error`, and the exit code says of which kind the
  failure is ([exit-codes.md](exit-codes.md)).
* Numbers are finite; what is not known is `null`. Units stand beside numbers, or in the
  description here.
* Within a version fields are only ever added: read what you know and pass over the rest. Anything
  else makes a new version.

This page is written from the schemas by `python -m engiagent.tools.schemas.page`.
"""


def page() -> str:
    """Return the page."""
    printed, stored = "## What commands print\n", "## What files hold\n"
    return "\n".join([_HEAD, printed, *_parts(PRINTED), stored, *_parts(STORED)])


def _parts(forms: Mapping[str, Form]) -> Iterator[str]:
    for name, form in forms.items():
        schema = form.make()
        title = schema.get("title") or schema.get("description") or ""
        field = schema.get("properties", {}).get("schema", {})
        form_id = field.get("const") or f"engiagent-{name}/1"
        yield f"### {name}\n\n`{form_id}`: {title}. From: {form.where}.\n"
        rows = list(_rows(schema))
        if rows:
            yield "| field | what it may be | what it says |\n|---|---|---|"
            yield "\n".join(rows) + "\n"


def _rows(schema: Json) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        if name == "schema" or "$ref" in field:
            continue
        kind = kind_of(field) + ("" if name in required else "; may be absent")
        yield f"| `{name}` | {kind} | {field.get('description', '')} |"


if __name__ == "__main__":
    print(page(), end="")
