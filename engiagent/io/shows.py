"""What shows itself: as text in a console, as HTML in a notebook."""


class Shows:
    """An object that shows itself.

    What it shows is written by :mod:`engiagent.notebook.shown`, which stands above all that it
    shows and is imported when something is shown.
    """

    def __repr__(self) -> str:
        from engiagent.notebook.shown import text

        return text(self)

    def _repr_html_(self) -> str:
        from engiagent.notebook.shown import html

        return html(self)
