"""Units composed to systems and clusters, run closed loop by initialize, reset and step.

A :class:`Module` says its ports and states and steps them; a :class:`System` joins modules over
buses, where what is given is what is taken, and links, which carry signals; a
:class:`Simulation` runs it and keeps the books. The modules here wrap the units of
:mod:`engiagent.models`.
"""

from engiagent.models.systems.batteries import BatterySystemModule
from engiagent.models.systems.buildings import HeatNetworkModule
from engiagent.models.systems.electrical import (
    BatteryModule,
    FeederModule,
    GeneratorModule,
    GridModule,
    LoadModule,
    MeterModule,
)
from engiagent.models.systems.generation import ExtractionChpModule, GensetModule, PartLoadChpModule
from engiagent.models.systems.heating import CoolerModule, HeaterModule, RoomsModule
from engiagent.models.systems.hvac import BoilerModule, ChillerModule, HeatPumpModule
from engiagent.models.systems.ice import IceCoilModule, IceTankModule
from engiagent.models.systems.junctions import (
    SplitterModule,
    SurroundingsModule,
    WaterStoreModule,
    WaterSupplyModule,
    WaterUseModule,
)
from engiagent.models.systems.machines import FanModule, PumpModule
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import Port, State, WiringError
from engiagent.models.systems.record import Record, Step
from engiagent.models.systems.renewables import PvModule, WindModule
from engiagent.models.systems.signals import (
    ControllerModule,
    ProfileModule,
    ProportionalIntegralModule,
    SensorModule,
    ThermostatModule,
)
from engiagent.models.systems.simulation import Simulation
from engiagent.models.systems.system import System
from engiagent.models.systems.tanks import MixedTankModule, StratifiedTankModule
from engiagent.models.systems.tower import CoolingTowerModule
from engiagent.models.systems.vehicles import EvFleetModule
from engiagent.models.systems.wiring import Bus, Link

__all__ = [
    "BatteryModule",
    "BatterySystemModule",
    "BoilerModule",
    "Bus",
    "ChillerModule",
    "ControllerModule",
    "CoolerModule",
    "CoolingTowerModule",
    "EvFleetModule",
    "ExtractionChpModule",
    "FanModule",
    "FeederModule",
    "GeneratorModule",
    "GensetModule",
    "GridModule",
    "HeatNetworkModule",
    "HeatPumpModule",
    "HeaterModule",
    "IceCoilModule",
    "IceTankModule",
    "Link",
    "LoadModule",
    "MeterModule",
    "MixedTankModule",
    "Module",
    "Outcome",
    "PartLoadChpModule",
    "Port",
    "ProfileModule",
    "ProportionalIntegralModule",
    "PumpModule",
    "PvModule",
    "Record",
    "RoomsModule",
    "SensorModule",
    "Simulation",
    "SplitterModule",
    "State",
    "Step",
    "StratifiedTankModule",
    "SurroundingsModule",
    "System",
    "ThermostatModule",
    "WaterStoreModule",
    "WaterSupplyModule",
    "WaterUseModule",
    "WindModule",
    "WiringError",
]
