"""Problems that somebody can begin from: one template for each domain, filled with own values."""

from engiagent.cli.scaffold.templates_of import Template, Value, templates
from engiagent.cli.scaffold.writing import Scaffold, fill, write

__all__ = ["Scaffold", "Template", "Value", "fill", "templates", "write"]
