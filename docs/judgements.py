"""The documentation of what Whilly thinks of a plan: the gate's rules and the preflight's categories."""

from whilly.core.contradictions import CATEGORIES, Severity
from whilly.core.gate import RULES, Verdict
from whilly.core.triz import WEIGHTS

MEANING = {
    Verdict.REJECT: "Rejected: `whilly plan apply --strict` skips the task; without `--strict` it only warns.",
    Verdict.WARN: "Warned about: the task runs all the same.",
}


def gate_rules() -> str:
    """Every rule of the gate, what refuses first."""
    parts = []
    for severity, meaning in MEANING.items():
        parts.append(f"## {severity.value}\n\n{meaning}")
        parts += [
            f"### `{rule.id}`\n\n{rule.refuses}\n\n*Why:* {rule.why}\n\n*Instead:* {rule.instead}"
            for rule in RULES
            if rule.severity is severity
        ]
    return "\n\n".join(parts)


def triz_categories() -> str:
    """Every kind of finding of the preflight."""
    rows = [
        f"| `{category.value}` | {row.severity.value} | {row.principle}. {row.principle_name} | {row.found_when} "
        f"| {row.recommendation} |"
        for category, row in CATEGORIES.items()
    ]
    return "\n".join(["| category | severity | principle | found when | what to do |", "|---|---|---|---|---|", *rows])


def triz_weights() -> str:
    """What each severity takes from the ideality of a plan."""
    return ", ".join(f"{severity.value} {WEIGHTS[severity]:g}" for severity in Severity) + "."
