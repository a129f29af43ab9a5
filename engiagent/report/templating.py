"""One environment for every page: the same shell, style and macros, everything escaped."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from engiagent.report import charts, words
from engiagent.report.charts.markup import printable
from engiagent.run.listing import RunSummary

if TYPE_CHECKING:
    import jinja2

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a page that stands alone may load: nothing; its style is its own."""
_HOME: Final = "engiagent.report"


def render_page(template: str, context: Mapping[str, Any], package: str = _HOME) -> str:
    """Return a page from a template; characters that no page may hold are replaced.

    Parameters
    ----------
    package
        Whose folder ``templates`` the template is from; it may extend and use those of reports.
    """
    return printable(_environment(package).get_template(template).render(context))


@lru_cache(maxsize=1)
def stylesheet() -> str:
    """Return the style of every page, with that of the charts on it."""
    own = files("engiagent.report").joinpath("templates", "report.css").read_text("utf-8")
    return own + charts.style()


@lru_cache(maxsize=4)
def _environment(package: str) -> "jinja2.Environment":
    import jinja2

    sources = {
        item.name: item.read_text("utf-8")
        for home in dict.fromkeys((_HOME, package))
        for item in files(home).joinpath("templates").iterdir()
        if item.is_file()
    }
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "style": Markup(stylesheet()),
        "policy": POLICY,
        "quantity": words.quantity,
        "verdict_of": _verdict_of,
    }
    return environment


def _verdict_of(run: RunSummary) -> words.Verdict:
    return words.verdict(run.verdict, run.state)
