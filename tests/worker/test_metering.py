import pytest

from whilly.core.evidence import Usage
from whilly.core.money import Micros, from_usd
from whilly.worker.halt import Cause, Halt
from whilly.worker.metering import Meter


class Purse:
    """A control plane that raises the limit as often as it was filled."""

    def __init__(self, *raises: Micros) -> None:
        self.raises = list(raises)
        self.asked = 0
        self.meter: Meter | None = None

    async def more(self) -> None:
        self.asked += 1
        if self.raises and self.meter:
            self.meter.limited(self.raises.pop(0))


def metered(limit: Micros | None, purse: Purse) -> tuple[Meter, Halt]:
    halt = Halt()
    purse.meter = Meter(limit, halt, purse.more)
    return purse.meter, halt


async def test_the_agent_is_stopped_at_the_first_sign_that_the_limit_is_reached() -> None:
    """Half a dollar, told of in steps of a dime."""
    meter, halt = metered(from_usd("0.50"), Purse())
    reported = []
    for step in range(1, 51):
        await meter.used(Usage(from_usd("0.10") * step))
        reported.append(step)
        if halt.is_set():
            break
    assert reported[-1] == 5
    assert halt.cause is Cause.OVER_BUDGET
    assert "Stopped after spending $0.50; it may spend $0.50." in halt.reason


async def test_from_half_of_the_limit_on_more_is_asked_for_in_time() -> None:
    purse = Purse(from_usd("5.00"))
    meter, halt = metered(from_usd("0.50"), purse)
    await meter.used(Usage(from_usd("0.20")))
    assert purse.asked == 0
    await meter.used(Usage(from_usd("0.30")))
    assert purse.asked == 1
    await meter.used(Usage(from_usd("0.90")))
    assert not halt.is_set()


async def test_a_jump_over_the_limit_asks_before_it_stops() -> None:
    purse = Purse(from_usd("2.00"))
    meter, halt = metered(from_usd("0.50"), purse)
    await meter.used(Usage(from_usd("1.50")))
    assert not halt.is_set()
    await meter.used(Usage(from_usd("2.00")))
    assert halt.cause is Cause.OVER_BUDGET


async def test_a_limit_that_is_lowered_counts_at_once() -> None:
    meter, halt = metered(from_usd("5.00"), Purse())
    await meter.used(Usage(from_usd("1.00")))
    meter.limited(from_usd("0.80"))
    assert halt.cause is Cause.OVER_BUDGET


async def test_once_the_agent_has_ended_no_limit_stops_its_checks() -> None:
    meter, halt = metered(from_usd("0.50"), Purse())
    await meter.used(Usage(from_usd("0.50")))
    assert halt.is_set()
    meter.close()
    halt.forgive_money()
    meter.limited(from_usd("0.10"))
    assert not halt.is_set()
    halt.because(Cause.LEASE_LOST, "Another one has it.")
    assert halt.cause is Cause.LEASE_LOST


@pytest.mark.parametrize("cost", [None, 0])
async def test_what_costs_nothing_as_far_as_is_known_never_reaches_a_limit(cost: Micros | None) -> None:
    meter, halt = metered(0, Purse())
    await meter.used(Usage(cost))
    assert not halt.is_set()


async def test_without_a_limit_nothing_is_asked() -> None:
    purse = Purse()
    meter, halt = metered(None, purse)
    await meter.used(Usage(from_usd("1000")))
    assert purse.asked == 0
    assert not halt.is_set()


async def test_a_cost_that_was_known_stays_known() -> None:
    meter, _ = metered(None, Purse())
    await meter.used(Usage(700, input_tokens=1))
    await meter.used(Usage(None, input_tokens=2))
    assert meter.usage == Usage(700, input_tokens=2)
