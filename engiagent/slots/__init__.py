"""What components take and give: the words that builder, checker, plant files and docs share."""

from engiagent.slots.catalogue import COMPONENTS, Catalogue, Component, Quantity, Slot, yes_or_no

__all__ = ["COMPONENTS", "Catalogue", "Component", "Quantity", "Slot", "yes_or_no"]
