"""Verification commands, as a plan or a task lists them."""

from whilly.core.plan import Check
from whilly.planfile.fields import Fields
from whilly.planfile.problems import quoted
from whilly.planfile.schema import CHECK_KEYS, LONGEST_CHECK_SECONDS, MOST_REPAIRS

_LONGEST_NAME = 100
_NEEDED = {"name": '"unit"', "command": '"python -m pytest -q"'}


def read_checks(owner: Fields) -> tuple[Check, ...]:
    """The checks of a plan or a task, under either name of the key."""
    if owner.has("verification_commands") and owner.has("checks"):
        owner.problem("checks", '"checks" and "verification_commands" are both given', "Keep one list.")
    key = "checks" if owner.has("checks") else "verification_commands"
    if not owner.has(key):
        return ()
    checks: dict[str, Check] = {}
    for fields in owner.objects(key):
        check = _read_check(fields)
        if check.name in checks:
            fields.problem("name", f"Two checks are named {quoted(check.name)}", "Give each its own name.")
        elif check.name:
            checks[check.name] = check
    return tuple(checks.values())


def _read_check(fields: Fields) -> Check:
    fields.require(_NEEDED, CHECK_KEYS)
    fields.tell_ignored(CHECK_KEYS, "a check")
    name = fields.filled("name")
    if len(name) > _LONGEST_NAME or not all(character.isprintable() for character in name):
        fields.problem(
            "name",
            f"The check's name {quoted(name)} is not one line of at most {_LONGEST_NAME} characters",
            "Shorten it.",
        )
    repairs = fields.whole("repair_max_attempts", 0, MOST_REPAIRS)
    timeout = fields.whole("timeout_seconds", 1, LONGEST_CHECK_SECONDS)
    return Check(
        name=name,
        command=fields.filled("command"),
        required=fields.flag("required", default=True),
        source=fields.text("source") or _DEFAULT.source,
        repair_max_attempts=_DEFAULT.repair_max_attempts if repairs is None else repairs,
        timeout_seconds=_DEFAULT.timeout_seconds if timeout is None else timeout,
    )


_DEFAULT = Check("", "")
