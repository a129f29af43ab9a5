"""Whether a blueprint has all that is needed to solve it, and whether its requirements can hold."""

from engiagent.explain.audit.auditing import audit_blueprint, audit_path, audit_problem
from engiagent.explain.audit.findings import Audit, Finding
from engiagent.explain.places import Part, Place

__all__ = ["Audit", "Finding", "Part", "Place", "audit_blueprint", "audit_path", "audit_problem"]
