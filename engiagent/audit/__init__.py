"""Whether a problem says enough to be solved, and whether what it says can hold."""

from engiagent.audit.auditing import (
    audit_blueprint,
    audit_path,
    audit_problem,
    quick_audit,
)
from engiagent.audit.findings import Audit, Finding
from engiagent.explain.places import Part, Place

__all__ = [
    "Audit",
    "Finding",
    "Part",
    "Place",
    "audit_blueprint",
    "audit_path",
    "audit_problem",
    "quick_audit",
]
