"""An audit that shows itself in a notebook."""

from engiagent.explain.audit import Audit as PlainAudit
from engiagent.notebook import markup

_TONES = {
    "complete": "good",
    "pass": "good",
    "contradictory": "bad",
    "fail": "bad",
    "missing": "bad",
}
_MARKS = {"good": "✔", "bad": "✘", "open": "?"}


class Audit(PlainAudit):
    """What an audit found."""

    def __repr__(self) -> str:
        lines = [f"{self.problem}: {self.verdict}"]
        lines += [f"  {finding.severity}: {finding.explanation}" for finding in self.findings]
        lines += [f"  not understood: {text}" for text in self.not_understood]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        tone = _TONES.get(self.verdict, "open")
        rows = [
            (
                f.severity,
                f"{f.subject}: {f.explanation}",
                "; ".join(str(place) for place in f.places),
            )
            for f in self.findings
        ]
        return markup.card(
            self.problem,
            markup.badge(self.verdict, tone, _MARKS[tone]),
            markup.table(("severity", "finding", "where"), rows),
            markup.folded(
                f"{len(self.not_understood)} sentences that nothing here can judge",
                markup.bullets(self.not_understood),
            ),
            markup.folded(f"{len(self.notes)} notes", markup.bullets(self.notes)),
            kicker="audit",
        )
