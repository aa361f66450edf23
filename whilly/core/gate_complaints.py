"""What the gate's rules look at: for each id a question about a task, answered with a complaint or with nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from whilly.core import wording
from whilly.core.invisible import hidden_characters
from whilly.core.money import shown
from whilly.core.plan import Plan, Review, TaskSpec, checks_of
from whilly.core.review_wish import asks_for_review
from whilly.core.secret_patterns import strong_kind_in
from whilly.core.steps import looks_like_command

SHORTEST_DESCRIPTION = 20
"""Characters, without blank space around them; a wide character counts as two."""

MANY_KEY_FILES = 50
MANY_CRITERIA = 40
LONG_TEXT = 40_000
"""Characters of all texts of a task: about 10,000 tokens, a twentieth of a usual context."""
LONGEST_TEXT = 400_000
"""About half of a usual context, before the agent has read a single file."""


@dataclass(frozen=True, slots=True)
class Case:
    """A task with what the rules may look at besides it."""

    plan: Plan
    task: TaskSpec
    words: str
    """Everything that the agent will read of the task."""
    same_work: str
    """Id of the first task before it that asks for exactly the same; empty when none does."""
    same_description: str
    """Id of the first task before it with the same description; empty when none has."""

    @property
    def has_required_check(self) -> bool:
        """Whether a command decides about the result."""
        return any(check.required for check in checks_of(self.plan.checks, self.task.checks))


Complaint = Callable[[Case], str]
"""What is wrong, as a sentence; empty when the rule is kept."""


def _description(case: Case) -> str:
    length = wording.length(case.task.description)
    if not length:
        return "The description is missing."
    return f"The description has only {length} characters." if length < SHORTEST_DESCRIPTION else ""


def _acceptance_criteria(case: Case) -> str:
    return "" if any(_filled(case.task.acceptance_criteria)) else "There are no acceptance criteria."


def _test_steps(case: Case) -> str:
    without = not any(_filled(case.task.test_steps)) and not case.has_required_check
    return "There are no test steps and no required checks." if without else ""


def _test_steps_left_to_checks(case: Case) -> str:
    without = not any(_filled(case.task.test_steps)) and case.has_required_check
    return "There are no test steps." if without else ""


def _placeholder(case: Case) -> str:
    description = case.task.description
    if wording.length(description) and wording.is_placeholder(description):
        return f"The description stands in for a real one: {_quoted(description)}."
    criteria, steps = _filled(case.task.acceptance_criteria), _filled(case.task.test_steps)
    if criteria and all(wording.is_placeholder(criterion) for criterion in criteria):
        return f"The acceptance criteria stand in for real ones: {_quoted(criteria[0])}."
    if steps and all(wording.is_placeholder(step) and not looks_like_command(step) for step in steps):
        return f"The test steps stand in for real ones: {_quoted(steps[0])}."
    return ""


def _monotonous(case: Case) -> str:
    description = case.task.description
    if wording.length(description) < SHORTEST_DESCRIPTION or wording.is_placeholder(description):
        return ""
    return f"The description says nothing: {_quoted(description)}." if wording.is_monotonous(description) else ""


def _only_a_link(case: Case) -> str:
    return "The description is only a link." if wording.is_only_a_link(case.task.description) else ""


def _vague_description(case: Case) -> str:
    description = case.task.description
    if wording.length(description) < SHORTEST_DESCRIPTION or not wording.is_vague_task(description):
        return ""
    if wording.is_placeholder(description) or wording.is_only_a_link(description):
        return ""
    return f"The description names an aim but no object: {_quoted(description)}."


def _vague_criteria(case: Case) -> str:
    filled = _filled(case.task.acceptance_criteria)
    vague = bool(filled) and all(wording.is_vague_criterion(criterion) for criterion in filled)
    return f"No criterion can be checked: {_quoted(filled[0])}." if vague else ""


def _blank_items(case: Case) -> str:
    for name, items in (("acceptance criteria", case.task.acceptance_criteria), ("test steps", case.task.test_steps)):
        blank = len(items) - len(_filled(items))
        if 0 < blank < len(items):
            return f"{blank} of {len(items)} {name} {'is' if blank == 1 else 'are'} blank."
    return ""


def _open_slot(case: Case) -> str:
    if wording.is_placeholder(case.task.description):
        return ""
    slot = wording.open_slot(case.words)
    return f"Something was left to be filled in: {_quoted(slot)}." if slot else ""


def _nothing_verifies(case: Case) -> str:
    steps = _filled(case.task.test_steps)
    if not steps or case.has_required_check or any(looks_like_command(step) for step in steps):
        return ""
    return "Nothing can verify the result by itself: no required check, and no test step that is a command."


def _duplicate(case: Case) -> str:
    return f"It is the same work as {case.same_work}." if case.same_work else ""


def _same_description(case: Case) -> str:
    if case.same_work or not case.same_description:
        return ""
    return f"It has the same description as {case.same_description}."


def _key_file(case: Case) -> str:
    for path in case.task.key_files:
        if wrong := _wrong_with_path(path):
            return f"The key file {_quoted(path)} {wrong}."
    return ""


def _many_key_files(case: Case) -> str:
    count = len(case.task.key_files)
    return f"It names {count} key files." if count > MANY_KEY_FILES else ""


def _many_criteria(case: Case) -> str:
    count = max(len(case.task.acceptance_criteria), len(case.task.test_steps))
    return f"It has {count} criteria or steps." if count > MANY_CRITERIA else ""


def _long(case: Case) -> str:
    length = len(case.words)
    return f"Its texts have {length:,} characters together." if LONG_TEXT < length <= LONGEST_TEXT else ""


def _too_long(case: Case) -> str:
    length = len(case.words)
    return f"Its texts have {length:,} characters together." if length > LONGEST_TEXT else ""


def _secret(case: Case) -> str:
    kind = strong_kind_in(case.words)
    return f"It contains a credential ({kind.replace('_', ' ')})." if kind else ""


def _hidden_text(case: Case) -> str:
    hidden = sorted(set(hidden_characters(case.words)))
    if hidden:
        return f"It contains characters that nobody sees ({', '.join(f'U+{ord(one):04X}' for one in hidden[:5])})."
    comment = _COMMENT.search(case.words)
    return "It contains an HTML comment, which a web page would not show." if comment else ""


def _override(case: Case) -> str:
    lowered = case.words.lower()
    found = _OVERRIDE.search(case.words) if any(hint in lowered for hint in _OVERRIDE_HINTS) else None
    return f"It speaks to the agent about its instructions: {_quoted(found[0])}." if found else ""


def _review(case: Case) -> str:
    wanted = case.task.review if case.task.review is not None else case.plan.review
    sentence = asks_for_review(case.words) if wanted is Review.NONE else ""
    return f"It asks for a person ({_quoted(sentence)}), but its review is none." if sentence else ""


def _budget(case: Case) -> str:
    task, plan = case.task.budget, case.plan.budget
    if task == 0 or plan == 0:
        return f"The budget of the {'task' if task == 0 else 'plan'} is {shown(0)}, so no agent can start."
    if task is not None and plan is not None and task > plan:
        return f"The task may spend {shown(task)}, but the whole plan only {shown(plan)}."
    return ""


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COMMENT = re.compile(r"<!--(?=[^>]*\w)")
_OVERRIDE_HINTS = ("<", "[", "instruct", "prompt", "rules", "guideline", "direction")
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,20}\b(?:previous|prior|above|earlier|preceding|all|your|system)\b.{0,20}"
    r"\b(?:instructions?|prompts?|rules|guidelines|directions)\b"
    r"|</?(?:system|assistant|untrusted)\b[^>\n]{0,40}>|\[/?INST\]|<\|im_(?:start|end)\|>|^#{1,6} ?system prompt",
    re.IGNORECASE | re.MULTILINE,
)


_BLANK = " \t\r\n\f\v\u00a0\u200b\u3000\ufeff"


def _filled(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in items if item.strip(_BLANK))


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 60 else line[:59] + "…"}"'


def _wrong_with_path(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path):
        return "is not relative to the repository"
    if ".." in parts:
        return "leads out of the repository"
    if ".git" in path.casefold() and any(part.casefold() == ".git" for part in parts):
        return "is inside git's own folder"
    return "contains a control character" if _CONTROL.search(path) else ""


COMPLAINTS: dict[str, Complaint] = {
    "description": _description,
    "acceptance_criteria": _acceptance_criteria,
    "test_steps": _test_steps,
    "placeholder": _placeholder,
    "monotonous": _monotonous,
    "duplicate": _duplicate,
    "key_file": _key_file,
    "too_long": _too_long,
    "secret": _secret,
    "test_steps_left_to_checks": _test_steps_left_to_checks,
    "nothing_verifies": _nothing_verifies,
    "only_a_link": _only_a_link,
    "vague_description": _vague_description,
    "vague_criteria": _vague_criteria,
    "open_slot": _open_slot,
    "blank_items": _blank_items,
    "same_description": _same_description,
    "many_key_files": _many_key_files,
    "many_criteria": _many_criteria,
    "long": _long,
    "hidden_text": _hidden_text,
    "override": _override,
    "review": _review,
    "budget": _budget,
}
"""By rule id."""
