"""The numbers for monitoring: complete, bounded, the same from every process, and shown to nobody but scrapers."""

import asyncio
import time
from datetime import timedelta

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.builders import a_check, a_plan, a_report, a_result, a_task, claimed, done, finished, running
from tests.control_plane import Server, running_server
from whilly.core.money import from_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Review
from whilly.operations import count_events as counting
from whilly.operations.append_events import append_events
from whilly.operations.count_events import count_events
from whilly.operations.finish_attempts import release_attempt
from whilly.operations.import_plan import import_plan
from whilly.operations.register_worker import register_worker, sign_off_worker
from whilly.operations.sequence_events import sequence_events
from whilly.operations.steer_task import cancel_task
from whilly.operations.sweep_leases import sweep_leases
from whilly.server import metrics as metrics_module
from whilly.server.metric_names import FAMILIES
from whilly.server.metrics import Metrics
from whilly.server.metrics_text import Family, bucketed, rendered
from whilly.server.timings import Timings
from whilly.store.database import Database
from whilly.wire.work import AttemptEvent, ClaimRequest, Registration, Release

Numbers = dict[str, dict[tuple[str, ...], float]]
SEEDS_SEVEN = {
    "whilly_claims_total": ("counter", ("plan_id", "worker_id")),
    "whilly_completes_total": ("counter", ("plan_id", "worker_id")),
    "whilly_fails_total": ("counter", ("plan_id", "worker_id", "reason")),
    "whilly_workers_online": ("gauge", ()),
    "whilly_claims_pending": ("gauge", ("plan_id",)),
    "whilly_plan_budget_remaining_usd": ("gauge", ("plan_id",)),
    "whilly_claim_long_poll_duration_seconds": ("histogram", ()),
}


def parsed(text: str) -> Numbers:
    """Every sample by name and label values; the reference parser refuses what is not the format."""
    found: Numbers = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels: tuple[str, ...] = tuple(sample.labels.values())
            assert labels not in found.setdefault(sample.name, {}), f"{sample.name}{labels} is there twice"
            found[sample.name][labels] = sample.value
    return found


async def numbers(database: Database) -> Numbers:
    """What a process that has just started answers."""
    while await sequence_events(database):
        pass
    return parsed(await Metrics(database, Timings(database)).text())


def test_the_seven_names_are_there_with_their_types_and_labels() -> None:
    assert {each.name: (each.kind, each.labels) for each in FAMILIES[:7]} == SEEDS_SEVEN
    assert list(FAMILIES[6].buckets) == [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
    assert len({each.name for each in FAMILIES}) == len(FAMILIES)


async def test_every_metric_is_announced_before_anything_happens(database: Database) -> None:
    text = await Metrics(database, Timings(database)).text()

    for family in FAMILIES:
        assert f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n" in text
    assert parsed(text)["whilly_claim_long_poll_duration_seconds_count"] == {(): 0}


async def test_what_happened_to_tasks_is_counted(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(name) for name in "ABCDE"), checks=(a_check(repair_max_attempts=0),)))
    attempt = await running(database, worker="w1")
    await finished(database, attempt.key, a_report(checks=(a_result(),)))
    attempt = await running(database, worker="w2")
    await append_events(database, attempt.key, [AttemptEvent("verification.failed", {"required": True}, number=1)])
    await append_events(database, attempt.key, [AttemptEvent("verification.warning", {"required": False}, number=2)])
    await finished(database, attempt.key, a_report(checks=(a_result(passed=False),)))
    attempt = await running(database, worker="w2")
    await release_attempt(database, attempt.key, Release("the worker's own \n free text"))
    await cancel_task(database, "p", "D", "ada")
    lost = await running(database, worker="w3", lease=timedelta(0))
    assert await sweep_leases(database) == 1

    found = await numbers(database)

    assert found["whilly_claims_total"] == {("p", "w1"): 1, ("p", "w2"): 2, ("p", "w3"): 1}
    assert found["whilly_completes_total"] == {("p", "w1"): 1}
    assert found["whilly_fails_total"] == {("p", "w2", "checks_failed"): 1, ("p", "", "cancelled"): 1}
    assert found["whilly_releases_total"] == {("p", "released"): 1, ("p", "lost_worker"): 1}
    assert found["whilly_leases_lost_total"] == {("p",): 1}
    assert found["whilly_verification_failures_total"] == {("p", "true"): 1, ("p", "false"): 1}
    # One was given back, one was never claimed; the lost one is parked for some seconds.
    assert lost.spec.id == "C"
    assert found["whilly_claims_pending"] == {("p",): 1}


async def test_a_lost_worker_that_ends_its_task_is_counted_as_both(database: Database) -> None:
    await import_plan(database, a_plan())
    for _ in range(3):
        async with database.connection() as connection:
            await connection.execute("update tasks set parked_until = null")
        await running(database, lease=timedelta(0))
        await sweep_leases(database)

    found = await numbers(database)

    assert found["whilly_leases_lost_total"] == {("p",): 3}
    assert found["whilly_fails_total"] == {("p", "w1", "lost_worker"): 1}


async def test_only_known_outcomes_become_labels(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(f"T{number}") for number in range(20))))
    for number in range(20):
        attempt = await running(database)
        await release_attempt(database, attempt.key, Release(f"reason {number}"))

    found = await numbers(database)

    assert {reason for _, reason in found["whilly_releases_total"]} <= {outcome.value for outcome in Outcome}
    assert sum(found["whilly_releases_total"].values()) == 20


async def test_money_is_shown_by_plan(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B"), budget=from_usd("2")))
    await import_plan(database, a_plan(a_task("A"), plan="free"))
    attempt = await running(database)
    await finished(database, attempt.key, a_report(cost=from_usd("1.25")))
    await claimed(database)

    found = await numbers(database)

    assert found["whilly_plan_budget_remaining_usd"] == {("p",): 0.75}
    assert found["whilly_plan_spent_usd"] == {("p",): 1.25, ("free",): 0}
    assert found["whilly_plan_spent_today_usd"] == {("p",): 1.25, ("free",): 0}
    assert found["whilly_plan_reserved_usd"] == {("p",): 0.5, ("free",): 0}


async def test_the_queue_says_how_much_waits_and_for_how_long(database: Database) -> None:
    await import_plan(
        database, a_plan(a_task("A"), a_task("B", ("A",)), a_task("C"), a_task("D", review=Review.BEFORE))
    )
    async with database.connection() as connection:
        await connection.execute("update tasks set updated_at = clock_timestamp() - interval '1 h' where id = 'B'")
        await connection.execute("update tasks set updated_at = clock_timestamp() - interval '5 min' where id = 'C'")

    found = await numbers(database)

    assert found["whilly_claims_pending"] == {("p",): 2}
    assert 300 <= found["whilly_queue_oldest_age_seconds"]["p",] < 310


async def test_workers_that_are_there_are_online(database: Database) -> None:
    await register_worker(database, "here", Registration("host"))
    await register_worker(database, "left", Registration("host"))
    await sign_off_worker(database, "left")

    assert (await numbers(database))["whilly_workers_online"] == {(): 1}


async def test_a_log_that_stands_still_is_seen(database: Database) -> None:
    await import_plan(database, a_plan())
    found = parsed(await Metrics(database, Timings(database)).text())

    assert found["whilly_sequencer_pending_events"][()] == 2
    assert found["whilly_sequencer_lag_seconds"][()] > 0
    assert (await numbers(database))["whilly_sequencer_lag_seconds"] == {(): 0}


async def test_each_event_is_counted_once_whoever_counts(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PAGE", 7)
    await import_plan(database, a_plan(*(a_task(f"T{number}") for number in range(40))))
    for _ in range(40):
        await done(database)
    while await sequence_events(database):
        pass

    async def count() -> int:
        counted = 0
        while found := await count_events(database):
            counted += found
        return counted

    counted = sum(await asyncio.gather(*(count() for _ in range(5))))
    found = await numbers(database)

    assert counted == found["whilly_events_total"][()] == 40 * 4 + 1
    assert found["whilly_claims_total"] == {("p", "w1"): 40}
    assert found["whilly_completes_total"] == {("p", "w1"): 40}
    assert found["whilly_uncounted_events"] == {(): 0}


async def test_all_processes_give_the_same_numbers(database: Database) -> None:
    first, second = Timings(database), Timings(database)
    first.long_poll(0.2)
    second.long_poll(7)
    second.long_poll(400)
    second.request("/api/v1/claim", "POST", 204, 0.02)
    await first.save()
    await second.save()
    await second.save()

    found = await numbers(database)

    buckets = found["whilly_claim_long_poll_duration_seconds_bucket"]
    assert [buckets[bound,] for bound in ("0.1", "0.25", "5", "10", "60", "+Inf")] == [0, 1, 1, 2, 2, 3]
    assert found["whilly_claim_long_poll_duration_seconds_sum"] == {(): 407.2}
    assert found["whilly_claim_long_poll_duration_seconds_count"] == {(): 3}
    assert found["http_requests_total"] == {("/api/v1/claim", "POST", "2xx"): 1}


async def test_two_servers_on_one_database_answer_alike(database: Database) -> None:
    async with running_server(database) as first, running_server(database) as second:
        await import_plan(database, a_plan(a_task("A"), a_task("B")))
        for server in (first, second):
            async with await server.worker() as http:
                body = {"claim_id": f"c{id(server)}", "plan": "p", "agents": ["scripted"], "wait_seconds": 0}
                assert (await http.post("/api/v1/claim", json=body)).status_code == 200
        await first.numbered()
        await first.engine.timings.save()
        await second.engine.timings.save()
        answers = []
        for server in (first, second):
            async with await server.scraper() as http:
                answers.append(parsed((await http.get("/metrics")).text))

    for name in ("whilly_claims_total", "whilly_claim_long_poll_duration_seconds_count", "whilly_claims_pending"):
        assert answers[0][name] == answers[1][name]
    assert answers[0]["whilly_claims_total"] == {("p", "w-1"): 2}
    assert answers[0]["whilly_claim_long_poll_duration_seconds_count"] == {(): 2}


async def test_durations_are_kept_while_the_database_takes_none(database: Database) -> None:
    timings = Timings(database)
    timings.claim(0.004)
    await database.close()
    await timings.close()
    with pytest.raises(Exception, match=r"clos"):
        await timings.save()


async def test_plans_are_bounded_by_what_changed_last(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "MOST_PLANS", 3)
    for number in range(6):
        await import_plan(database, a_plan(plan=f"p{number}", budget=from_usd("1")))
    await done(database, "p0")

    found = await numbers(database)

    assert set(found["whilly_plan_budget_remaining_usd"]) == {("p0",), ("p5",), ("p4",)}
    assert set(found["whilly_claims_total"]) == {("p0", "w1")}
    assert found["whilly_plans_left_out"] == {(): 3}


async def test_a_queue_that_takes_long_to_count_is_counted_seldom(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_module, "FRESH_SECONDS", 0)
    monkeypatch.setattr(metrics_module, "REST", 1e9)
    metrics = Metrics(database, Timings(database))
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    assert parsed(await metrics.text())["whilly_claims_pending"] == {("p",): 2}
    await claimed(database)

    assert parsed(await metrics.text())["whilly_claims_pending"] == {("p",): 2}
    await import_plan(database, a_plan(plan="q"))
    assert parsed(await metrics.text())["whilly_claims_pending"] == {("p",): 1, ("q",): 1}


async def test_a_claim_through_the_server_is_timed(server: Server) -> None:
    await server.store("p", a_task("A"))
    async with await server.worker() as http:
        for wait in (0, 0.2):
            asked = ClaimRequest(f"c{wait}", "p", ("scripted",), wait)
            body = {"claim_id": asked.claim_id, "plan": "p", "agents": ["scripted"], "wait_seconds": wait}
            await http.post("/api/v1/claim", json=body)
    await server.numbered()

    async with await server.scraper() as http:
        answer = await http.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = parsed(answer.text)
    assert found["whilly_claims_total"] == {("p", "w-1"): 1}
    assert found["whilly_claim_long_poll_duration_seconds_count"] == {(): 2}
    assert found["whilly_claim_long_poll_duration_seconds_sum"][()] >= 0.2
    assert found["whilly_claim_duration_seconds_count"][()] >= 2
    assert found["http_requests_total"]["/api/v1/claim", "POST", "2xx"] == 2


@pytest.mark.parametrize("given", [None, "a secret of the monitoring"])
async def test_the_metrics_are_closed_to_all_who_have_no_token_for_them(database: Database, given: str | None) -> None:
    async with running_server(database, metrics_token=given) as server:
        clients = {
            401: [server.nobody(), *(_with_bearer(server, bearer) for bearer in ("", "None", "whl_mt_0", "\xe9"))],
            403: [await server.operator(), await server.worker(), await server.session()],
            200: [await server.scraper(), *([_with_bearer(server, given)] if given else [])],
        }
        for status, callers in clients.items():
            for http in callers:
                assert (await http.get("/metrics")).status_code == status
        if given:
            assert (await _with_bearer(server, given).get("/api/v1/plans")).status_code == 403
            assert (await server.nobody().get(f"/metrics?token={given}")).status_code == 401


def _with_bearer(server: Server, bearer: str) -> httpx2.AsyncClient:
    http = server.nobody()
    http.headers = httpx2.Headers([(b"Authorization", b"Bearer " + bearer.encode("latin-1"))])
    return http


@given(st.dictionaries(st.tuples(st.text(), st.text()), st.floats(0, 1e15), max_size=5))
def test_any_label_comes_through(samples: dict[tuple[str, ...], float]) -> None:
    text = rendered([(Family("some_total", "counter", "Help with \\ and \n.", ("one", "two")), samples)])

    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert len(lines) == len(samples)


@given(st.lists(st.floats(0, 100), max_size=30))
def test_a_histogram_counts_everything_once(observed: list[float]) -> None:
    family = Family("h_seconds", "histogram", "Help.", buckets=(0.5, 1, 10))
    samples: dict[tuple[str, ...], float] = {}
    for seconds in observed:
        samples[bucketed(family, seconds),] = samples.get((bucketed(family, seconds),), 0) + 1

    found = parsed(rendered([(family, samples)]))

    for bound in family.buckets:
        (told,) = (value for (text,), value in found["h_seconds_bucket"].items() if float(text) == bound)
        assert told == sum(seconds <= bound for seconds in observed)
    assert found["h_seconds_count"] == {(): len(observed)}


@pytest.mark.slow
async def test_a_scrape_of_a_million_tasks_is_cheap(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A")))
    async with database.connection() as connection:
        await connection.execute(
            "insert into tasks (plan_id, id, position, priority) "
            "select 'p', 'T' || n, n, 2 from generate_series(1, 1000000) n"
        )
        await connection.execute("vacuum analyze tasks")
    metrics = Metrics(database, Timings(database))
    assert parsed(await metrics.text())["whilly_claims_pending"] == {("p",): 1_000_001}
    await asyncio.sleep(metrics_module.FRESH_SECONDS)

    began = time.monotonic()
    await metrics.text()

    assert time.monotonic() - began < 0.25
