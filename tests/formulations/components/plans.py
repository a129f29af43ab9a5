"""Plans of sites, solved and executed in this process."""

from pathlib import Path

import xarray as xr

from engiagent.formulations.compile import compile_blueprint
from engiagent.plant.site import Site
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve


def plan_of(site: Site, folder: Path | None = None) -> xr.Dataset:
    """Return the answer of a solver, with a plan or without one."""
    program = compile_blueprint(site.blueprint(), folder)
    return to_dataset(program, solve(program, isolate=False))


def solved(site: Site) -> xr.Dataset:
    """Return the plan of a site that has one."""
    data = plan_of(site)
    assert data.attrs["status"] in ("optimal", "feasible"), data.attrs.get("reason")
    return data


def executed(site: Site) -> xr.Dataset:
    """Return the plan of a site, which the checker's execution of every unit confirms."""
    data = solved(site)
    certificate = certify(None, data, site.blueprint(), folder=Path(), name="site")
    physics = certificate.levels["physics"]
    assert (physics["status"], certificate.violations) == ("pass", ()), certificate.violations
    return data
