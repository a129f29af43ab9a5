"""Stores: batteries, vehicles and tanks, what limits them and what wears them."""
