"""What components take and give: the words that builder, checker, plant files and docs share."""

from engiagent.slots.catalogue import COMPONENTS, Catalogue, Component, Quantity, Slot

__all__ = ["COMPONENTS", "Catalogue", "Component", "Quantity", "Slot"]
