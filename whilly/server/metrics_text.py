"""Numbers as Prometheus reads them (text format 0.0.4)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, what it is (`counter`, `gauge`, `histogram`), and what its labels are called."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, in seconds; the one without a bound is added."""


Samples = Mapping[tuple[str, ...], float]
"""Values by those of the labels. Of a histogram: see `bucketed`."""


def rendered(families: Sequence[tuple[Family, Samples]]) -> str:
    """All of them, also those without a value yet: what exists can be looked up before it happens."""
    return "".join(line + "\n" for family, samples in families for line in _lines(family, samples))


def _lines(family: Family, samples: Samples) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.help)}"
    yield f"# TYPE {family.name} {family.kind}"
    if family.kind == "histogram":
        yield from _histogram(family, samples)
        return
    for labels in sorted(samples):
        yield f"{family.name}{_labels(family.labels, labels)} {_number(samples[labels])}"


def bucketed(family: Family, seconds: float) -> str:
    """The bucket that an observation falls into: the value of the last label of what is counted for a histogram.

    Beside its buckets, which are counted each for itself, a histogram has `sum`, the seconds of all observations.
    """
    return next((_number(bound) for bound in family.buckets if seconds <= bound), "+Inf")


def _histogram(family: Family, samples: Samples) -> Iterator[str]:
    names = (*family.labels, "le")
    bounds = [*(_number(bound) for bound in family.buckets), "+Inf"]
    for labels in sorted({key[:-1] for key in samples}) or ([()] if not family.labels else []):
        so_far = 0.0
        for bound in bounds:
            so_far += samples.get((*labels, bound), 0)
            yield f"{family.name}_bucket{_labels(names, (*labels, bound))} {_number(so_far)}"
        yield f"{family.name}_sum{_labels(family.labels, labels)} {_number(samples.get((*labels, 'sum'), 0))}"
        yield f"{family.name}_count{_labels(family.labels, labels)} {_number(so_far)}"


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    pairs = ",".join(f'{name}="{_quoted(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(value: str) -> str:
    return _escaped(value).replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
