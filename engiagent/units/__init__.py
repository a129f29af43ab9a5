"""Units: what they are, how people write them, and where headers of tables hold them."""
