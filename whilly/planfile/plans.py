"""The plan itself: its names, its defaults and its list of tasks."""

from whilly.core.names import check_id, id_from
from whilly.core.plan import Plan, Review, TaskSpec
from whilly.planfile.checks import read_checks
from whilly.planfile.fields import Fields
from whilly.planfile.findings import Findings, Path
from whilly.planfile.problems import kind_of, quoted
from whilly.planfile.references import check_references, check_targets
from whilly.planfile.repositories import read_origin, read_repo_targets
from whilly.planfile.schema import LONGEST_TIMEOUT_MINUTES, PLAN_KEYS
from whilly.planfile.syntax import Unreal
from whilly.planfile.tasks import (
    check_plain_id,
    read_agent,
    read_isolation,
    read_review,
    read_task,
    read_worker_tags,
)
from whilly.planfile.wrappers import Outline


def read_document(outline: Outline, findings: Findings) -> Plan:
    """The plan, with defaults in place of what is wrong and reported."""
    fields = Fields(outline.values, outline.place, findings)
    fields.tell_ignored(PLAN_KEYS, "a plan")
    fields.text("$schema")
    plan_id, project = _names(fields, outline, findings)
    targets = read_repo_targets(fields)
    tasks, places = _tasks(fields, outline.tasks_place, findings)
    check_references(tasks, places, findings)
    if targets or not fields.has("repo_targets"):
        check_targets(tasks, places, targets, findings)
    return Plan(
        id=plan_id,
        project=project,
        tasks=tuple(tasks),
        checks=read_checks(fields),
        budget=fields.dollars("budget_usd"),
        daily_budget=fields.dollars("budget_usd_per_day"),
        agent=read_agent(fields),
        timeout_minutes=fields.whole("timeout_minutes", 1, LONGEST_TIMEOUT_MINUTES),
        review=read_review(fields) or Review.NONE,
        origin=read_origin(fields),
        repo_targets=targets,
        worker_tags=read_worker_tags(fields),
        isolation=read_isolation(fields),
    )


def _names(fields: Fields, outline: Outline, findings: Findings) -> tuple[str, str]:
    """Plan id and project; each is made from the other where it is missing."""
    has_id, has_project = fields.has("plan_id"), fields.has("project")
    project, plan_id = fields.filled("project"), fields.text("plan_id")
    if has_id and type(fields.values["plan_id"]) is str:
        check_plain_id(fields, "plan_id", plan_id)
    if not has_id and not has_project and not outline.is_wrapped:
        fields.require({"project": '"What the plan is about"'}, PLAN_KEYS)
    elif not has_project and plan_id:
        remedy = 'Add "project": "…" for a name with more words.'
        findings.note(outline.place, f'"project" is missing, so the plan is shown as {quoted(plan_id)}', remedy)
        project = plan_id
    elif not has_id and project.strip():
        plan_id = _id_from_project(fields, project, findings)
    return plan_id, project


def _id_from_project(fields: Fields, project: str, findings: Findings) -> str:
    if check_id(project) is None:
        return project
    plan_id = id_from(project.lower())
    if plan_id is None:
        what = f"No plan id can be made from the project {quoted(project)}"
        fields.problem("project", what, 'Add a "plan_id" of letters, digits, ., _ and -, at most 64.')
        return ""
    findings.note(
        (*fields.place, "project"),
        f'"plan_id" is missing, so the plan\'s id is "{plan_id}", made from its project',
        f'Add "plan_id": "{plan_id}" to keep the id when the project gets another name.',
    )
    return plan_id


def _tasks(fields: Fields, place: Path, findings: Findings) -> tuple[list[TaskSpec], list[Path]]:
    fields.require({"tasks": "[]"}, PLAN_KEYS)
    listed = fields.values.get("tasks")
    if not isinstance(listed, list):
        if listed is not None and not isinstance(listed, Unreal):
            fields.problem("tasks", f'"tasks" is {kind_of(listed)}, not a list', "Write a list of objects: [{…}, {…}].")
        return [], []
    most = findings.limits.tasks
    if len(listed) > most:
        what = f"The plan has {len(listed)} tasks, more than {most}, so they were not looked at"
        fields.problem("tasks", what, "Split the plan, or raise the limit.")
        return [], []
    tasks, places = [], []
    for position, value in enumerate(listed):
        here = (*place, position)
        if isinstance(value, dict):
            tasks.append(read_task(Fields(value, here, findings), findings))
            places.append(here)
        elif not isinstance(value, Unreal):
            findings.problem(here, f"The task is {kind_of(value)}, not an object", 'Write {"id": "…", …}.')
    return tasks, places
