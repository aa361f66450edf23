"""A whole plan with the agent that is part of the product, over the real control plane."""

import os
from pathlib import Path

from tests.builders import a_check, a_plan, a_task
from tests.worker.workshop import workshop
from whilly.agents.script import Script
from whilly.agents.scripted import ScriptedAgent
from whilly.core.plan import Review
from whilly.operations.review_task import review_task
from whilly.store.database import Database

SCRIPTS = {
    "PARSER": Script(
        (
            {"usage": {"cost_usd": "0.04", "input_tokens": 1200, "output_tokens": 300}},
            {"append": {"path": "shop.py", "content": "\n\ndef price(text):\n    return int(text)\n"}},
        )
    ),
    "TOTAL": Script(
        (
            {
                "on_attempt": {
                    "1": [{"append": {"path": "shop.py", "content": "\n\ndef total(prices):\n    return 0\n"}}],
                    "2": [
                        {"print_prompt": True},
                        {"shell": "sed -i 's/return 0/return sum(map(price, prices))/' shop.py"},
                    ],
                }
            },
        )
    ),
    "MANUAL": Script(({"write": {"path": "MANUAL.md", "content": "# Manual\n"}},)),
}

CHECK = 'python3 -c \'import shop; assert not hasattr(shop, "total") or shop.total(["2", "3"]) == 5\''


async def test_a_plan_of_four_tasks_becomes_verified_work(database: Database, tmp_path: Path) -> None:
    plan = a_plan(
        a_task("PARSER", key_files=("shop.py",)),
        a_task("TOTAL", ("PARSER",), key_files=("shop.py",), description="Add total(), the sum of all prices."),
        a_task("MANUAL", review=Review.RESULT),
        a_task("NOTES", ("TOTAL", "MANUAL"), key_files=("NOTES.md",)),
        checks=(a_check("shop", command=CHECK),),
    )
    runners = {"scripted": ScriptedAgent(os.environ, SCRIPTS)}
    async with workshop(database, tmp_path, {}, files={"shop.py": "# A shop.\n"}, runners=runners) as shop:
        before = shop.repository.footprint()
        await shop.room.submit(plan, shop.repository.path)
        async with shop.working(slots=2) as (stop, worker):
            await shop.reached("MANUAL", "HUMAN_LOOP")
            await shop.reached("TOTAL", "DONE")
            await review_task(database, "p", "MANUAL", "approved", "ann")
            await shop.reached("NOTES", "DONE")
            stop.set()
            await worker

        assert sorted(ended.task for ended in shop.ended) == ["MANUAL", "NOTES", "PARSER", "TOTAL", "TOTAL"]
        assert [each["outcome"] for each in await shop.room.attempts("TOTAL")] == ["checks_failed", "completed"]
        assert "AssertionError" in await shop.room.transcript("TOTAL", epoch=2), "the repair saw the failing output"
        assert "Add total(), the sum of all prices." in await shop.room.transcript("TOTAL", epoch=2)
        assert shop.repository.branches() == {
            "main",
            "whilly/p/PARSER",
            "whilly/p/TOTAL",
            "whilly/p/MANUAL",
            "whilly/p/NOTES",
        }
        last = "whilly/p/NOTES"
        assert "return sum(map(price, prices))" in shop.repository.file(last, "shop.py")
        assert shop.repository.file(last, "MANUAL.md") == "# Manual"
        assert shop.repository.file(last, "NOTES.md")
        assert shop.repository.footprint() == before
        assert (await shop.room.attempts("PARSER"))[0]["cost_micros"] == 40_000
        assert shop.leftovers() == []
