"""Every metric there is: `docs/reference/metrics.md` is printed from here."""

from whilly.operations import count_events
from whilly.server.metrics_text import Family

CLAIMS = Family(count_events.CLAIMS, "counter", "Tasks handed to workers.", ("plan_id", "worker_id"))
COMPLETES = Family(
    count_events.COMPLETES,
    "counter",
    "Tasks that became DONE when their attempt ended; those that a person approves later are not among them.",
    ("plan_id", "worker_id"),
)
FAILS = Family(
    count_events.FAILS,
    "counter",
    "Tasks that became FAILED, by how their last attempt ended; worker_id is empty where a person ended them.",
    ("plan_id", "worker_id", "reason"),
)
WORKERS_ONLINE = Family("whilly_workers_online", "gauge", "Workers that gave a sign of life within 90 seconds.")
CLAIMS_PENDING = Family(
    "whilly_claims_pending",
    "gauge",
    "Tasks that wait to be claimed: PENDING, with all their prerequisites DONE, and not parked.",
    ("plan_id",),
)
BUDGET_REMAINING = Family(
    "whilly_plan_budget_remaining_usd",
    "gauge",
    "Budget of the plan minus what it has spent; negative when overdrawn, absent without a budget.",
    ("plan_id",),
)
LONG_POLL = Family(
    "whilly_claim_long_poll_duration_seconds",
    "histogram",
    "How long requests for a task took, the wait for one included.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
CLAIM_DURATION = Family(
    "whilly_claim_duration_seconds",
    "histogram",
    "How long one look for a task took, without the wait for one.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
QUEUE_AGE = Family(
    "whilly_queue_oldest_age_seconds",
    "gauge",
    "How long the task that waits longest has been claimable; 0 when none waits.",
    ("plan_id",),
)
RELEASES = Family(
    count_events.RELEASES,
    "counter",
    "Attempts after which the task went back into the queue, by how they ended.",
    ("plan_id", "reason"),
)
LEASES_LOST = Family(count_events.LEASES_LOST, "counter", "Attempts whose worker fell silent or died.", ("plan_id",))
CHECKS_FAILED = Family(
    count_events.CHECKS_FAILED,
    "counter",
    "Checks that did not pass; required says whether the task depends on them.",
    ("plan_id", "required"),
)
SPENT = Family(
    "whilly_plan_spent_usd",
    "gauge",
    "What all attempts of the plan have cost; a late bill may correct it.",
    ("plan_id",),
)
RESERVED = Family(
    "whilly_plan_reserved_usd", "gauge", "What running attempts may still spend of the plan's budget.", ("plan_id",)
)
SPENT_TODAY = Family("whilly_plan_spent_today_usd", "gauge", "What was spent since midnight UTC.", ("plan_id",))
DAILY_REMAINING = Family(
    "whilly_plan_daily_budget_remaining_usd",
    "gauge",
    "Daily budget of the plan minus what was spent since midnight UTC; absent without a daily budget.",
    ("plan_id",),
)
EVENTS = Family("whilly_events_total", "counter", "Events in the log.")
SEQUENCER_LAG = Family(
    "whilly_sequencer_lag_seconds", "gauge", "Age of the oldest committed event that has no position in the log yet."
)
SEQUENCER_PENDING = Family(
    "whilly_sequencer_pending_events", "gauge", "Committed events without a position; counted up to 10000."
)
UNCOUNTED = Family(
    "whilly_uncounted_events",
    "gauge",
    "Events that the counters here do not know yet; 0 but for the first answers about a long log.",
)
PLANS_LEFT_OUT = Family(
    "whilly_plans_left_out", "gauge", "Plans without numbers here: only the 200 that changed last have some."
)
REQUESTS = Family(
    "http_requests_total",
    "counter",
    "Requests by route, method and class of the status.",
    ("handler", "method", "status"),
)
REQUEST_DURATION = Family(
    "http_request_duration_seconds",
    "histogram",
    "How long requests took until their answer began.",
    ("handler", "method"),
    (0.01, 0.05, 0.1, 0.5, 1, 5),
)

FAMILIES = (
    CLAIMS,
    COMPLETES,
    FAILS,
    WORKERS_ONLINE,
    CLAIMS_PENDING,
    BUDGET_REMAINING,
    LONG_POLL,
    CLAIM_DURATION,
    QUEUE_AGE,
    RELEASES,
    LEASES_LOST,
    CHECKS_FAILED,
    SPENT,
    RESERVED,
    SPENT_TODAY,
    DAILY_REMAINING,
    EVENTS,
    SEQUENCER_LAG,
    SEQUENCER_PENDING,
    UNCOUNTED,
    PLANS_LEFT_OUT,
    REQUESTS,
    REQUEST_DURATION,
)
"""In the order of the answer. The first seven are those that earlier programs called Whilly had."""
