"""One JSON object, read key by key: a question gives a usable value, or reports what is wrong and gives a default."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import TypeVar

from whilly.core.money import LARGEST, MICROS_PER_USD, Micros, from_usd
from whilly.planfile.findings import Findings, Path
from whilly.planfile.forbidden import find_depth
from whilly.planfile.limits import size_of
from whilly.planfile.problems import kind_of, quoted
from whilly.planfile.syntax import Unreal

Choice = TypeVar("Choice")

_DOLLARS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


class Fields:
    """An optional key that is absent and one that is null mean the same."""

    __slots__ = ("_findings", "_texts_up_to", "place", "values")

    def __init__(self, values: Mapping[str, object], place: Path, findings: Findings) -> None:
        self.values = values
        self.place = place
        self._findings = findings
        # Characters that surely fit: UTF-8 needs at most four bytes for one.
        self._texts_up_to = findings.limits.text_bytes // 4

    def has(self, key: str) -> bool:
        """Whether there is a value other than null."""
        return self.values.get(key) is not None

    def require(self, examples: Mapping[str, str], known: frozenset[str]) -> None:
        """Report all missing keys in one sentence; the examples are JSON, by key."""
        missing = [key for key in examples if self.values.get(key) is None]
        if not missing:
            return
        names = ", ".join(f'"{key}"' for key in missing)
        unknown = [name for name in self.values if name not in known][:_MOST_COMPARED]
        alike = [quoted(name) for key in missing if (name := _resembling(key, unknown))]
        there = f" (there is {', '.join(alike)})" if alike else ""
        verb = "is missing" if len(missing) == 1 else "are missing"
        lines = ", ".join(f'"{key}": {examples[key]}' for key in missing)
        self.problem(None, f"{names} {verb}{there}", f"Add {lines}.")

    def problem(self, key: str | None, what: str, remedy: str) -> None:
        """Report something about the value of a key, or about the object itself."""
        self._findings.problem(self.place if key is None else (*self.place, key), what, remedy)

    def text(self, key: str, default: str = "") -> str:
        """Any text."""
        value = self.values.get(key)
        if type(value) is str:
            if len(value) > self._texts_up_to:
                self._check_size(value, key)
            return value
        if value is not None:
            self._wrong(key, value, "a text", _in_quotes(value))
        return default

    def filled(self, key: str) -> str:
        """A text that is there and not blank."""
        value = self.text(key)
        if not value.strip() and type(self.values.get(key)) is str:
            self.problem(key, f'"{key}" is blank', "Write a text.")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.values.get(key)
        if value is None:
            return ()
        if type(value) is not list:
            remedy = f"Write [{quoted(value)}]." if type(value) is str else "Write a list of texts."
            self._wrong(key, value, "a list", remedy)
            return ()
        for position, item in enumerate(value):
            if type(item) is not str:
                return self._only_texts(key, value)
            if len(item) > self._texts_up_to:
                self._check_size(item, key, position)
        return tuple(value)

    def _only_texts(self, key: str, value: list[object]) -> tuple[str, ...]:
        for position, item in enumerate(value):
            if not isinstance(item, (str, Unreal)):
                self._findings.problem(
                    (*self.place, key, position),
                    f'"{key}" contains {kind_of(item)}, which is not a text',
                    _in_quotes(item),
                )
        return tuple(item for item in value if isinstance(item, str))

    def objects(self, key: str) -> Iterator["Fields"]:
        """A list of objects, each ready to be read."""
        value = self.values.get(key)
        if value is None:
            return
        if type(value) is not list:
            self._wrong(key, value, "a list", "Write a list of objects.")
            return
        for position, item in enumerate(value):
            place = (*self.place, key, position)
            if isinstance(item, dict):
                yield Fields(item, place, self._findings)
            elif type(item) is not Unreal:
                self._findings.problem(place, f'"{key}" contains {kind_of(item)}, which is not an object', "Write {…}.")

    def inner(self, key: str) -> "Fields | None":
        """An object, ready to be read."""
        value = self.values.get(key)
        if isinstance(value, dict):
            return Fields(value, (*self.place, key), self._findings)
        if value is not None:
            self._wrong(key, value, "an object", "Write {…}.")
        return None

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key)
        if type(value) is bool:
            return value
        if value is not None:
            self._wrong(key, value, "true or false", "Write true or false, without quotes.")
        return default

    def whole(self, key: str, lowest: int, highest: int) -> int | None:
        """A whole number in a range; None when it is absent or wrong."""
        value = self.values.get(key)
        if value is None:
            return None
        allowed = f"a whole number from {lowest} to {highest}"
        if type(value) is int and lowest <= value <= highest:
            return value
        self._wrong(key, value, allowed, f"Write {allowed}, without quotes.")
        return None

    def choice(self, key: str, choices: Mapping[str, Choice], default: Choice) -> Choice:
        """One of a few words, in any case. The choices are in lower case."""
        value = self.values.get(key)
        if type(value) is str:
            found = choices.get(value)
            if found is None:
                found = choices.get(value.lower())
            if found is not None:
                return found
        if value is not None:
            self._wrong(key, value, "one of the words it can be", f"Write one of {', '.join(choices)}.")
        return default

    def dollars(self, key: str) -> Micros | None:
        """An amount, as a number or as a decimal text; None when it is absent or wrong."""
        value = self.values.get(key)
        if value is None:
            return None
        remedy = 'Write dollars as a number: 5 or 2.50 (or "2.50").'
        if isinstance(value, str) and not _DOLLARS.fullmatch(value):
            self._wrong(key, value, "an amount of dollars", remedy)
            return None
        if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
            self._wrong(key, value, "an amount of dollars", remedy)
            return None
        exact = Decimal(value)
        if exact < 0:
            self.problem(key, f'"{key}" is negative', "Write 0 or more; leave the key out for no limit.")
        elif exact > LARGEST // MICROS_PER_USD:
            self.problem(key, f'"{key}" is more than a billion dollars', "Leave the key out for no limit.")
        elif 0 < exact < Decimal("0.000001"):
            self.problem(key, f'"{key}" is less than a millionth of a dollar', remedy)
        else:
            return from_usd(exact)
        return None

    def tell_ignored(self, known: frozenset[str], kind: str) -> None:
        """Count the keys that mean nothing here, for one note each."""
        if self.values.keys() <= known:
            return
        for key, value in self.values.items():
            if key not in known:
                self._findings.ignored_keys.meet((kind, key), (*self.place, key))
                if isinstance(value, (dict, list)):
                    find_depth(value, (*self.place, key), self._findings)

    def _wrong(self, key: str, value: object, wanted: str, remedy: str) -> None:
        if type(value) is not Unreal:
            self.problem(key, f'"{key}" is {kind_of(value)}, not {wanted}', remedy)

    def _check_size(self, text: str, key: str, position: int | None = None) -> None:
        largest = self._findings.limits.text_bytes
        if len(text.encode("utf-8", "surrogatepass")) <= largest:
            return
        place = (*self.place, key) if position is None else (*self.place, key, position)
        self._findings.problem(place, f'A text in "{key}" is longer than {size_of(largest)}', "Shorten it.")


_MOST_COMPARED = 50


def _resembling(key: str, names: list[str]) -> str | None:
    return next(iter(get_close_matches(key, [name for name in names if len(name) <= 64], n=1, cutoff=0.7)), None)


def _in_quotes(value: object) -> str:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return f'Write it in quotes: "{str(value)[:40]}".'
    return "Write a text in double quotes."
