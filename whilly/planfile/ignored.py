"""Notes about what happened often: ignored keys and statuses that start again."""

from difflib import get_close_matches

from whilly.planfile.findings import Findings
from whilly.planfile.problems import quoted
from whilly.planfile.schema import CHECK_KEYS, ORIGIN_KEYS, PLAN_KEYS, REPO_TARGET_KEYS, TASK_KEYS

_KNOWN = {
    "a plan": PLAN_KEYS,
    "a task": TASK_KEYS,
    "a check": CHECK_KEYS,
    "a repo target": REPO_TARGET_KEYS,
    "an origin": ORIGIN_KEYS,
}


def tell_tallies(findings: Findings) -> None:
    """One note for each key and each status, however often it was met."""
    for thing, count, place in findings.ignored_keys:
        kind, key = thing
        similar = get_close_matches(key, _KNOWN[kind], n=1, cutoff=0.7) if len(key) <= 64 else []
        remedy = f'If "{similar[0]}" is meant, write that.' if similar else "Remove it if it was meant to do something."
        findings.note(place, f"{quoted(key)} is not a key of {kind}, so it was ignored{_often(count)}", remedy)
    if findings.ignored_keys.nameless:
        findings.note(1, f"{findings.ignored_keys.nameless} more keys are unknown and were ignored", "Remove them.")
    for status, count, place in findings.restarted:
        what = f"The status {status} belongs to a run that is over, so the task starts as PENDING{_often(count)}"
        findings.note(place, what, "Nothing to do; write DONE for what need not be done again.")


def _often(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
