"""A figure: charts that show themselves in a notebook and can be kept as a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.notebook import markup
from engiagent.report.charts import Chart, caption, document
from engiagent.report.charts.palette import Theme
from engiagent.report.studied import study_charts
from engiagent.study import Study


@dataclass(frozen=True, eq=False)
class Figure:
    """Charts one above the other."""

    charts: Sequence[Chart]
    title: str = "Charts"

    def svg(self, theme: Theme = "auto") -> str:
        """Return the charts as one SVG document that stands alone."""
        return document(tuple(self.charts), self.title, theme)

    def save(self, path: str | Path, theme: Theme = "light") -> Path:
        """Write the SVG document into a file and return its path.

        Raises InputError when the file is to be another kind of picture, or cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            expected = "a name that ends .svg"
            raise InputError("a figure is stored as SVG", str(path), expected=expected)
        try:
            write_atomic(target, self.svg(theme))
        except OSError as error:
            raise InputError(f"cannot write it: {error.strerror}", str(path)) from None
        return target

    def __repr__(self) -> str:
        names = ", ".join(caption(chart) for chart in self.charts) or "nothing"
        return f"Figure({self.title!r}: {names})"

    def picture(self) -> Markup:
        """Return the charts as an image; nothing without a chart."""
        said = f"{self.title}: {', '.join(caption(chart) for chart in self.charts)}"
        return markup.picture(self.svg(), said) if self.charts else Markup("")

    def _repr_html_(self) -> str:
        if not self.charts:
            return markup.card(self.title, "There is nothing to draw.")
        return markup.card("", self.picture())


def of_study(study: Study) -> Figure:
    """Draw a study."""
    return Figure(study_charts(study), study.title)
