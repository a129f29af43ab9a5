"""Buildings: heat networks of any size, constructions, zones, gains, emitters and draws of water.

Units as in :mod:`engiagent.models`: heat in kW, capacities in kWh/K, conductances in kW/K, areas in
m2, temperatures in degC and times in h. Data of materials and surfaces keep the units in which
they are tabulated (W/(m K), kg/m3, J/(kg K), W/(m2 K)), as each docstring says.
"""
