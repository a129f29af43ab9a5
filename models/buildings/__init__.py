"""Buildings: heat networks of any size, constructions, zones, gains, emitters and draws of water.

==================  =============================================================================
``network``         nodes with and without capacity, links, streams, boundaries, stepped exactly
``constructions``   layers: U-value, periodic capacity after ISO 13786, cells of a network
``iso13790``        the simple hourly method 5R1C with heating and cooling needs
``iso52016``        zones with five-node elements by class of mass, windows, floors on the ground
``thermostat``      loads that hold set points in a network, with limits
``solar``           irradiance on tilted surfaces (pvlib), windows, sol-air temperature
``gains``           people by activity, devices and lights by profiles of the week
``emitters``        radiators by exponent, flow and supply temperature
``floors``          floors and ceilings with pipes inside
``draws``           tappings of domestic hot water
==================  =============================================================================

Units as in :mod:`engiagent.models`: heat in kW, capacities in kWh/K, conductances in kW/K, areas in
m2, temperatures in degC and times in h. Data of materials and surfaces keep the units in which
they are tabulated (W/(m K), kg/m3, J/(kg K), W/(m2 K)), as each docstring says.
"""
