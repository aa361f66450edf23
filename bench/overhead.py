"""Whilly's own time per task in a small repository: everything from one claim to the next but the agent."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from bench.plans import layered
from bench.postgres import folder, postgres
from bench.repository import IDENTITY, add_results, make_repository
from bench.series import Series, number, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from bench.trail import Times, trail, work_off
from whilly.agents.scripted import PROGRAM
from whilly.core.plan import Check, Plan
from whilly.operations.import_plan import import_plan

BAR = Bar(at_most=0.4)
ROUNDS = 3
RIVAL = "git by hand"
CHECKED = "one check that does nothing"


async def measure(sizes: Sizes) -> Table:
    """Independent tasks, one after the other: without a check, with one that does nothing, and after many others."""
    late = f"the same after {sizes.results} results"
    rounds: dict[str, list[list[float]]] = {"no checks": [], CHECKED: [], late: []}
    cpu: dict[str, list[float]] = {name: [] for name in rounds}
    rivals: list[float] = []
    parts: list[tuple[Times, Times]] = []
    with folder() as place:
        new, old = make_repository(place / "new"), make_repository(place / "old")
        add_results(old, sizes.results)
        async with postgres() as server, server.database("overhead") as database:
            for number_of_round in range(min(sizes.rounds, ROUNDS)):
                agent = _agent_alone(place)
                rivals.append(percentile([_by_hand(new, place) for _ in range(sizes.overhead)], 0.5))
                for name in rounds:
                    plan = _plan(f"own-{list(rounds).index(name)}-{number_of_round}", sizes.overhead + 1, name)
                    await import_plan(database, plan)
                    before = server.cpu()
                    ran = await work_off(database, place, old if name == late else new, plan.id, 1)
                    cpu[name].append((ran.cpu + server.cpu() - before) / len(plan.tasks))
                    pairs = list(pairwise((await trail(database, plan.id)).values()))
                    rounds[name].append([after["CLAIM"] - one["CLAIM"] - agent for one, after in pairs])
                    parts += pairs if name == CHECKED else []
    theirs = Series(tuple(rivals))
    figures = tuple(
        Figure(
            f"s per task, {name}",
            Series(tuple(percentile(times, 0.5) for times in found)),
            BAR,
            RIVAL,
            theirs,
            f"{number(Series(tuple(cpu[name])).median)} s, agent and start of the run included",
        )
        for name, found in rounds.items()
    )
    about = (
        "From the CLAIM event of a task to that of the next, less what the scripted agent's program takes alone. So "
        "the processes that guard the agent and the check count as Whilly's own, and so does the removal of the clone. "
        "The contender is `git clone --shared`, `git commit` and `git push` of a branch, one after the other."
    )
    return Table("overhead: Whilly's own time per task", figures, (about, _where_it_goes(parts)))


def _plan(name: str, tasks: int, kind: str) -> Plan:
    checks = () if kind == "no checks" else (Check("nothing", "exit 0"),)
    return replace(layered(name, tasks, width=tasks), checks=checks)


def _agent_alone(place: Path) -> float:
    """Seconds that the scripted agent's program takes where nobody guards it."""
    told = json.dumps({"task": "alone", "attempt": 1, "key_files": [], "prompt": "", "steps": None}).encode()
    took = []
    for number_of_try in range(5):
        folder_of_try = place / f"alone-{number_of_try}"
        folder_of_try.mkdir(exist_ok=True)
        began = time.perf_counter()
        command = (sys.executable, "-I", "-S", str(PROGRAM))
        subprocess.run(command, input=told, cwd=folder_of_try, check=True, capture_output=True)
        took.append(time.perf_counter() - began)
    return percentile(took, 0.5)


def _by_hand(repository: Path, place: Path) -> float:
    target = place / "by-hand"
    began = time.perf_counter()
    subprocess.run(("git", "clone", "-q", "--shared", str(repository), str(target)), check=True, capture_output=True)
    (target / "by-hand.md").write_text(f"{began}\n", encoding="utf-8")
    for words in (
        ("add", "--all"),
        (*IDENTITY, "commit", "-q", "-m", "By hand"),
        ("push", "-q", "--force", "origin", "HEAD:refs/heads/by-hand"),
    ):
        subprocess.run(("git", *words), cwd=target, check=True, capture_output=True)
    took = time.perf_counter() - began
    subprocess.run(("rm", "-rf", str(target)), check=True)
    return took


def _where_it_goes(pairs: list[tuple[Times, Times]]) -> str:
    def middle(first: str, second: str) -> str:
        return number(percentile([one[second] - one[first] for one, _ in pairs], 0.5) * 1e3)

    rest = number(percentile([after["CLAIM"] - one["COMPLETE"] for one, after in pairs], 0.5) * 1e3)
    return (
        f"Where it goes with a check (medians, ms): {middle('CLAIM', 'workspace.prepared')} for the workspace, "
        f"{middle('workspace.prepared', 'START')} until the start is recorded, {middle('START', 'COMPLETE')} for "
        "agent, commit, clean checkout, check, branch and report, "
        f"{rest} for the removal of the clone and the next claim."
    )
