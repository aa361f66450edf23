import pytest

from whilly.worker.empty_runs import ran_nothing

NOTHING = [
    ("pytest -q", 5, "no tests ran in 0.01s"),
    ("python -m pytest", 5, ""),
    ("pytest || true", 0, "collected 0 items\n\n===== no tests ran in 0.02s ====="),
    ("python -m unittest", 5, "Ran 0 tests in 0.000s\n\nNO TESTS RAN"),
    ("python3.11 -m unittest discover", 0, "\n----\nRan 0 tests in 0.000s\n\nOK\n"),
    ("go test ./...", 0, "?   \texample.com/app\t[no test files]\n?   \texample.com/app/db\t[no test files]\n"),
    ("go test -run Nope ./...", 0, "testing: warning: no tests to run\nPASS\nok  \tapp\t0.002s [no tests to run]\n"),
    ("cargo test", 0, "running 0 tests\n\ntest result: ok. 0 passed\n\n   Doc-tests app\n\nrunning 0 tests\n"),
    ("npx jest --passWithNoTests", 0, "No tests found, exiting with code 0\n"),
    ("npx vitest --passWithNoTests", 0, "No test files found, exiting with code 0\n"),
    ("npx mocha", 0, "\n\n  0 passing (1ms)\n\n"),
    ("node --test", 0, "# tests 0\n# pass 0\n# fail 0\n"),
    ("bundle exec rspec", 0, "Finished in 0.0 seconds\n0 examples, 0 failures\n"),
    ("vendor/bin/phpunit", 0, "No tests executed!\n"),
    ("dotnet test", 0, "No test is available in app.dll.\n"),
    ("ctest", 0, "No tests were found!!!\n"),
    ("swift test", 0, "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 seconds\n"),
]

SOMETHING = [
    ("pytest -q", 0, "...\n3 passed in 0.02s\n"),
    ("pytest a; pytest b", 0, "no tests ran in 0.01s\n...\n3 passed in 0.02s\n"),
    ("pytest", 1, "collected 1 item\n\n1 failed in 0.1s"),
    ("python -m unittest", 0, "Ran 12 tests in 0.010s\n\nOK"),
    ("go test ./...", 0, "?   \tapp/cmd\t[no test files]\nok  \tapp/db\t0.012s\n"),
    ("cargo test", 0, "running 4 tests\ntest result: ok. 4 passed\n\n   Doc-tests app\n\nrunning 0 tests\n"),
    ("npx jest", 0, "Tests:       2 passed, 2 total\n"),
    ("npx mocha", 0, "  7 passing (9ms)\n"),
    ("make lint", 0, "0 problems\n"),
    ("true", 0, ""),
    ("sh check.sh", 5, "something else says five"),
    ("grep -r 'no tests ran' docs", 0, "docs/testing.md: when it says that no tests ran, look at the pattern\n"),
]


@pytest.mark.parametrize(("command", "code", "output"), NOTHING, ids=[command for command, _, _ in NOTHING])
def test_a_run_without_tests_is_seen(command: str, code: int, output: str) -> None:
    assert ran_nothing(command, code, output, whole=True)


@pytest.mark.parametrize(("command", "code", "output"), SOMETHING, ids=[command for command, _, _ in SOMETHING])
def test_a_run_with_tests_or_of_another_kind_is_left_alone(command: str, code: int, output: str) -> None:
    assert not ran_nothing(command, code, output, whole=True)


def test_where_output_was_cut_only_the_exit_code_speaks() -> None:
    assert not ran_nothing("go test ./...", 0, "?   \tapp\t[no test files]\n", whole=False)
    assert ran_nothing("pytest", 5, "", whole=False)
