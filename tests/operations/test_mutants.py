"""Tests that cannot see a missing guard are decoration: each guard, taken away, makes the test named beside it fail."""

import asyncio
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType

import asyncpg
import pytest

from tests.operations.mutants import MUTANTS, Mutant
from tests.operations.slow_motion import patched
from whilly.core.errors import IllegalTransition
from whilly.store.database import Database
from whilly.store.statements import statement

DIES_WITHIN = 10.0
"""Seconds; on a machine that is not busy none needs more than one."""

FAILURES = (
    AssertionError,
    LookupError,
    IllegalTransition,
    asyncpg.IntegrityConstraintViolationError,
    pytest.fail.Exception,
)
"""How a test fails: by its own word, or because state machine, constraints or code find what should not be."""


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
async def test_without_its_guard_the_test_fails(
    database: Database, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(mutant.where, str):
        await mutate_statement(database, mutant, monkeypatch)
    else:
        mutate_function(mutant.where, mutant.guard, mutant.without, monkeypatch)

    with pytest.raises(FAILURES):
        async with asyncio.timeout(DIES_WITHIN):
            await mutant.killed_by(database)


async def mutate_statement(database: Database, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(mutant.where, str)
    mutated = changed(statement(mutant.where), mutant.guard, mutant.without)
    async with database.connection() as connection:
        # One that is no SQL would be found by any test.
        await connection.prepare(mutated)
    patched(monkeypatch, lambda name, text: mutated if name == mutant.where else text)


def mutate_function(function: Callable[..., object], guard: str, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchange the function's code, so that everybody who has imported it gets the mutant."""
    assert isinstance(function, FunctionType)
    made: dict[str, FunctionType] = {}
    source = changed(textwrap.dedent(inspect.getsource(function)), guard, without)
    exec(compile(source, inspect.getfile(function), "exec"), function.__globals__, made)
    monkeypatch.setattr(function, "__code__", made[function.__name__].__code__)


def changed(text: str, guard: str, without: str) -> str:
    assert text.count(guard) == 1, f"the guard has moved, point the mutant at it: {guard}"
    return text.replace(guard, without)
