"""Rooms and other temperatures: what they are, what joins them, and what is asked of them."""
