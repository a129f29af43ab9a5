"""Stores of heat and cold: water, mixed and stratified, ice and domestic hot water."""
