"""Heating, ventilation and air conditioning: plant, air and what carries heat between them."""
