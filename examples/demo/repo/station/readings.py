"""Text in, readings out."""

from dataclasses import dataclass
from typing import List


@dataclass(frozen=True)
class Reading:
    """The temperature of one day."""

    day: str
    celsius: float


def readings(text: str) -> List[Reading]:
    """One reading per line: the day, a space, degrees Celsius. Raises ValueError for anything else."""
    found = []
    for line in text.splitlines():
        day, celsius = line.split(" ")
        found.append(Reading(day, float(celsius)))
    return found
