"""The corpus: one folder a problem; :mod:`engiagent.text` loads them."""
