"""Plans of every shape, for property tests."""

from hypothesis import strategies as st

from whilly.core.names import check_id
from whilly.core.plan import Check, Origin, Plan, Priority, RepoTarget, Review, Status, TaskSpec
from whilly.planfile.schema import LONGEST_CHECK_SECONDS, LONGEST_TIMEOUT_MINUTES, MOST_REPAIRS

IDS = st.from_regex(r"\A[A-Za-z0-9]([._-]?[A-Za-z0-9]){0,20}\Z").filter(lambda text: check_id(text) is None)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
WORDS = TEXTS.map("w{}".format)
NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20)
BUDGETS = st.none() | st.integers(0, 10**15)
TIMEOUTS = st.none() | st.integers(1, LONGEST_TIMEOUT_MINUTES)
STORED = st.sampled_from([Status.PENDING, Status.DONE, Status.FAILED, Status.SKIPPED])
PATHS = st.lists(st.sampled_from(["src", "a b", "é", "x.py", "...", ".env"]), min_size=1, max_size=3).map("/".join)

CHECKS = st.lists(
    st.builds(
        Check,
        name=NAMES,
        command=WORDS,
        required=st.booleans(),
        source=WORDS,
        repair_max_attempts=st.integers(0, MOST_REPAIRS),
        timeout_seconds=st.integers(1, LONGEST_CHECK_SECONDS),
    ),
    max_size=2,
    unique_by=lambda check: check.name,
).map(tuple)

ORIGINS = st.builds(Origin, system=WORDS, ref=WORDS, url=TEXTS, title=TEXTS, content_hash=TEXTS, prd_file=TEXTS)

REPO_TARGETS = st.lists(
    st.builds(
        RepoTarget,
        id=IDS,
        provider=WORDS,
        repo_full_name=st.just("acme/shop"),
        clone_url=st.sampled_from(["", "https://host/x", "git@host:x.git"]),
        default_branch=st.sampled_from(["", "main"]),
        credential_policy=TEXTS,
    ),
    max_size=2,
    unique_by=lambda target: target.id.casefold(),
).map(tuple)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan that a file can hold."""
    ids = draw(st.lists(IDS, max_size=5, unique_by=str.casefold))
    targets = draw(REPO_TARGETS)
    tasks = []
    for position, task in enumerate(ids):
        earlier = st.lists(st.sampled_from(ids[:position]), unique=True, max_size=3) if position else st.just([])
        spec = st.builds(
            TaskSpec,
            id=st.just(task),
            description=TEXTS,
            priority=st.sampled_from(Priority),
            status=STORED,
            dependencies=earlier.map(tuple),
            key_files=st.lists(PATHS, max_size=3, unique=True).map(tuple),
            acceptance_criteria=st.lists(TEXTS, max_size=3).map(tuple),
            test_steps=st.lists(TEXTS, max_size=3).map(tuple),
            prd_requirement=TEXTS,
            repo_target_id=st.sampled_from(["", *(target.id for target in targets)]),
            agent=st.just("") | IDS,
            budget=BUDGETS,
            timeout_minutes=TIMEOUTS,
            review=st.none() | st.sampled_from(Review),
            checks=CHECKS,
        )
        tasks.append(draw(spec))
    return Plan(
        id=draw(IDS),
        project=draw(WORDS),
        tasks=tuple(tasks),
        checks=draw(CHECKS),
        budget=draw(BUDGETS),
        agent=draw(st.just("") | IDS),
        timeout_minutes=draw(TIMEOUTS),
        review=draw(st.sampled_from(Review)),
        origin=draw(st.none() | ORIGINS),
        repo_targets=targets,
    )
