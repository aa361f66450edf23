"""One task of a plan file. How tasks refer to each other is checked in `references`, when all of them are read."""

from whilly.core.capabilities import RUNGS
from whilly.core.names import check_id, id_from
from whilly.core.plan import Priority, Review, Status, TaskSpec
from whilly.planfile.checks import read_checks
from whilly.planfile.fields import Fields
from whilly.planfile.findings import Findings
from whilly.planfile.forbidden import has_forbidden_characters
from whilly.planfile.problems import quoted
from whilly.planfile.schema import LONGEST_TIMEOUT_MINUTES, MOST_TAGS, TASK_KEYS

_NEEDED = {
    "id": '"TASK-1"',
    "status": '"PENDING"',
    "priority": '"medium"',
    "description": '"What to do"',
}
_STATUSES = {status.lower(): status for status in Status}
_STORED = frozenset({Status.PENDING, Status.DONE, Status.FAILED, Status.SKIPPED})
_PRIORITIES = {priority.word: priority for priority in Priority}
_REVIEWS = {review.value: review for review in Review}
_RUNGS = {name: name for name in RUNGS}
_LARGEST_VERSION = 2**63 - 1


def read_task(fields: Fields, findings: Findings) -> TaskSpec:
    """The task, with defaults in place of what is wrong and reported."""
    fields.require(_NEEDED, TASK_KEYS)
    fields.tell_ignored(TASK_KEYS, "a task")
    fields.whole("version", 0, _LARGEST_VERSION)
    return TaskSpec(
        id=_id(fields),
        description=fields.text("description"),
        priority=fields.choice("priority", _PRIORITIES, Priority.MEDIUM),
        status=_status(fields, findings),
        dependencies=_dependencies(fields, findings),
        key_files=_key_files(fields, findings),
        acceptance_criteria=fields.texts("acceptance_criteria"),
        test_steps=fields.texts("test_steps"),
        prd_requirement=fields.text("prd_requirement"),
        repo_target_id=fields.text("repo_target_id"),
        agent=read_agent(fields),
        budget=fields.dollars("budget_usd"),
        timeout_minutes=fields.whole("timeout_minutes", 1, LONGEST_TIMEOUT_MINUTES),
        review=read_review(fields),
        checks=read_checks(fields),
        worker_tags=read_worker_tags(fields),
        isolation=read_isolation(fields),
    )


def read_agent(fields: Fields) -> str:
    """The agent's name; empty when none is asked for. Whether it exists is known where it runs."""
    agent = fields.text("agent")
    if agent and (wrong := check_id(agent)):
        fields.problem("agent", f"The agent {quoted(agent)} {wrong}", "Write the name of an agent, such as claude.")
    return agent


def read_worker_tags(fields: Fields) -> tuple[str, ...]:
    """Tags, each once."""
    tags = fields.texts("worker_tags")
    for tag in tags:
        if wrong := check_id(tag):
            fields.problem(
                "worker_tags", f"The tag {quoted(tag)} {wrong}", "Write a tag as workers have it, such as gpu."
            )
    if len(tags) > MOST_TAGS:
        fields.problem("worker_tags", f"There are {len(tags)} tags, more than {MOST_TAGS}", "Ask for fewer.")
    return tuple(dict.fromkeys(tags))


def read_isolation(fields: Fields) -> str:
    """A rung of the ladder; empty when the file does not say."""
    return fields.choice("isolation", _RUNGS, "")


def read_review(fields: Fields) -> Review | None:
    """None when the file does not say. True and false are refused: they do not tell when the person is asked."""
    value = fields.values.get("review")
    if value is True:
        remedy = 'Write "result" to be asked about the finished work, or "before" to be asked before it starts.'
        fields.problem("review", '"review" is true, which does not say when a person is asked', remedy)
        return None
    if value is False:
        fields.problem("review", '"review" is false, not one of the words it can be', 'Write "none".')
        return None
    return fields.choice("review", _REVIEWS, None)


def _id(fields: Fields) -> str:
    task_id = fields.text("id")
    if type(fields.values.get("id")) is str:
        check_plain_id(fields, "id", task_id)
    return task_id


def check_plain_id(fields: Fields, key: str, text: str) -> None:
    """Report an id that cannot be one, with the nearest that can."""
    wrong = check_id(text)
    if wrong is None or has_forbidden_characters(text):
        return
    rule = "Use at most 64 letters, digits, ., _ and -, beginning with a letter or digit."
    suggestion = id_from(text)
    fields.problem(key, f"The id {quoted(text)} {wrong}", f'Write "{suggestion}".' if suggestion else rule)


def _status(fields: Fields, findings: Findings) -> Status:
    status = fields.choice("status", _STATUSES, Status.PENDING)
    if status in _STORED:
        return status
    findings.restarted.meet(status.value, (*fields.place, "status"))
    return Status.PENDING


def _dependencies(fields: Fields, findings: Findings) -> tuple[str, ...]:
    dependencies = fields.texts("dependencies")
    most = findings.limits.dependencies
    if len(dependencies) > most:
        fields.problem(
            "dependencies",
            f"The task has {len(dependencies)} dependencies, more than {most}",
            "Let it depend on the last ones only; what those depend on is waited for anyway.",
        )
    return dependencies


def _key_files(fields: Fields, findings: Findings) -> tuple[str, ...]:
    paths = fields.texts("key_files")
    tidy: dict[str, None] = {}
    for position, path in enumerate(paths):
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
        if wrong := _wrong_with(path, parts):
            findings.problem(
                (*fields.place, "key_files", position),
                f"The key file {quoted(path)} {wrong}",
                "Write the path from the top of the repository, such as src/login.py.",
            )
        else:
            tidy["/".join(parts)] = None
    return tuple(tidy)


def _wrong_with(path: str, parts: list[str]) -> str | None:
    if not path.strip() or not parts:
        return "names no file"
    if path[0] in "/\\" or path[1:2] == ":" or path.startswith("~"):
        return "is not inside the repository"
    if ".." in parts:
        return 'contains ".."'
    return None if path.isprintable() else "contains a character that cannot be seen"
