"""A plan file in, a plan out; or everything that is wrong with it, at once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath

from whilly.core.errors import WhillyError
from whilly.core.plan import Plan
from whilly.planfile.envelope import Around, Region, find_plan, line_at
from whilly.planfile.findings import Finding, Findings, Path
from whilly.planfile.forbidden import find_forbidden
from whilly.planfile.ignored import tell_tallies
from whilly.planfile.limits import Limits
from whilly.planfile.locate import lines_of
from whilly.planfile.plans import read_document
from whilly.planfile.problems import Problem, visible
from whilly.planfile.syntax import Document, parse
from whilly.planfile.text import text_of
from whilly.planfile.wrappers import Outline, outline_of


class FileUnreadable(WhillyError):
    """There is no such file, or it is none, or not ours to read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file gave. There is a plan exactly when there are no problems."""

    plan: Plan | None
    problems: tuple[Problem, ...]
    """By line."""
    notes: tuple[Problem, ...]
    """What was understood, but perhaps otherwise than it was meant; by line."""


def read_plan(data: bytes, source: str, *, limits: Limits = Limits()) -> Reading:
    """Read the bytes of a plan file; `source` is its name in the problems. Never raises, whatever the bytes are."""
    findings = Findings(limits)
    text = text_of(data, findings)
    region = None if text is None else find_plan(text, findings)
    if text is None or region is None:
        return _reading(None, source, findings, _only_lines, _no_task)
    was_decoded = not findings.problems
    document = parse(text, region, findings)
    if document is None:
        if not was_decoded:
            del findings.problems[1:]  # Characters that were replaced may be all that is wrong with the syntax.
        return _reading(None, source, findings, _only_lines, _no_task)
    _tell_what_was_left_out(text, region, findings)
    if document.is_suspect:
        find_forbidden(document.value, findings)
    outline = outline_of(document.value, findings)
    plan = read_document(outline, findings) if outline else None
    tell_tallies(findings)
    return _reading(plan, source, findings, _lines(document, findings), _labels(outline))


def read_plan_file(path: FilePath, *, limits: Limits = Limits()) -> Reading:
    """Read a plan from the disk. At most one byte more than the limit is read, also from an endless file.

    Raises FileUnreadable.
    """
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(limits.file_bytes + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileUnreadable(f"{source} cannot be read ({reason}); check the path and its permissions.") from None
    return read_plan(data, source, limits=limits)


def _tell_what_was_left_out(text: str, region: Region, findings: Findings) -> None:
    if region.around is Around.NOTHING:
        return
    line = line_at(text, region.start)
    where = "fenced block" if region.around is Around.FENCE else "JSON"
    findings.note(
        line,
        f"The plan is the {where} that begins on line {line}; the text around it was left out",
        "Keep only the JSON.",
    )


def _lines(document: Document, findings: Findings) -> Callable[[Path], int]:
    found = [*findings.problems, *findings.notes]
    places = {finding.place for finding in found if not isinstance(finding.place, int)}
    places.update(finding.see for finding in found if finding.see is not None)
    return lines_of(document.text, document.start, places).__getitem__


def _labels(outline: Outline | None) -> Callable[[Path], str]:
    """Names the task that a place belongs to."""
    tasks = outline.values.get("tasks") if outline else None
    if outline is None or not isinstance(tasks, list):
        return _no_task
    above = outline.tasks_place

    def label(place: Path) -> str:
        position = place[len(above)] if len(place) > len(above) and place[: len(above)] == above else None
        if not isinstance(position, int):
            return ""
        task = tasks[position]
        task_id = task.get("id") if isinstance(task, dict) else None
        return visible(task_id) if isinstance(task_id, str) and task_id.strip() else f"tasks[{position}]"

    return label


def _reading(
    plan: Plan | None,
    source: str,
    findings: Findings,
    line: Callable[[Path], int],
    label: Callable[[Path], str],
) -> Reading:
    def told(finding: Finding) -> Problem:
        see = f" (see line {line(finding.see)})" if finding.see is not None else ""
        if isinstance(finding.place, int):
            return Problem(source, finding.place, "", finding.what + see, finding.remedy)
        return Problem(source, line(finding.place), label(finding.place), finding.what + see, finding.remedy)

    problems = sorted(map(told, findings.problems), key=lambda problem: problem.line)
    if findings.not_kept:
        what = f"There are {findings.not_kept} more problems of this kind"
        problems.append(Problem(source, problems[-1].line, "", what, "Mend those above first."))
    notes = sorted(map(told, findings.notes), key=lambda note: note.line)
    return Reading(None if problems else plan, tuple(problems), tuple(notes))


def _only_lines(place: Path) -> int:
    raise AssertionError(f"{place} stands in a document that could not be read")


def _no_task(_place: Path) -> str:
    return ""
