"""What can be told about a task from its words alone. Every question errs on the side of good faith."""

import re
import unicodedata
from functools import lru_cache

MOST_WORDS_OF_A_PLACEHOLDER = 12
LONGEST_LINK = 500

_PLACEHOLDER = re.compile(
    r"""
      \b(?:to\ be\ (?:done|defined|decided|determined|written|specified)|fill\ (?:me\ |this\ )?in|coming\ soon
        |(?:task\ |your\ |a\ |the\ |short\ |long\ )*descriptions?(?:\ (?:goes|is|comes))?\ here
        |descriptions?\ of\ the\ task|describe\ (?:the\ |your\ |this\ )?task|see\ above|same\ as\ above
        |(?:your|some|insert|add|more|task|criteria|steps?|text|details)(?:\ \w+){0,2}\ (?:goes\ )?here
        |(?:add|write|enter|insert|provide)\ (?:a\ |an\ |the\ |your\ |some\ )*(?:task\ )?
         (?:description|details|criteria|text))\b
    | \b(?:todo|tbd|tba|tbc|fixme|xxx+|placeholder|wip|n\ a|none|nil|null|undefined|untitled|foo|bar|baz|qux|example
        |sample|task|description|criteri(?:on|a)|steps?|test|text|item|title|name)\b
    | \blorem\ ipsum\b
    """,
    re.VERBOSE,
)
_FILLING_WORD = re.compile(r"an?|and|be|comes|for|goes|here|in|is|it|of|please|the|this|to|will|your")
_LATIN_WORD = re.compile(
    r"lorem|ipsum|dolor|sit|amet|consectetur|adipisi?cing|elit|sed|do|eiusmod|tempor|incididunt|ut|labore|et|dolore"
    r"|magna|aliqua|enim|ad|minim|veniam|quis|nostrud|exercitation|ullamco|laboris|nisi|aliquip|ex|ea|commodo|consequat"
    r"|duis|aute|irure|in|reprehenderit|voluptate|velit|esse|cillum|eu|fugiat|nulla|pariatur"
)
_SLOT = re.compile(
    r"""<\s*(?:(?:fill|insert|your|add|describe|replace)\s+\w[^<>\n]{0,60}|todo\b[^<>\n]{0,60}|tbd|placeholder)\s*>
      | \[\s*(?:(?:fill|insert|your|add|describe)\s+\w[^\[\]\n]{0,60}|todo\b[^\[\]\n]{0,60}|tbd|placeholder)\s*\](?!\()
      | \b(?:tbd|tba)\b | \bto\ be\ (?:defined|decided|determined|specified)\b | _{5,}""",
    re.VERBOSE | re.IGNORECASE,
)
_TICKET = re.compile(r"\b[A-Z][A-Z0-9]+-\d+\b")
_LINK = re.compile(r"(?:https?://|www\.)\S+|(?<![\w.-])[\w.-]+/[\w.-]+#\d+|(?<!\w)#\d+|" + _TICKET.pattern)
_WORD_AROUND_A_LINK = re.compile(r"see|fix(?:es)?|closes?|resolves?|implement|do|issue|ticket|bug|the|for")
_VAGUE_TASK = re.compile(
    r"(?:please )?"
    r"(?:fix|improve|refactor|clean up|cleanup|optimi[sz]e|update|enhance|polish|tidy up|rework|finish|make)"
    r"(?: (?:all|the|some|any|various|our|overall|general|existing|remaining|it|this|that|everything|things|stuff|bugs?"
    r"|issues?|problems?|errors?|code|codebase|project|app|application|performance|quality|ux|ui|tests?|docs|better"
    r"|documentation|of|in|and|more|work|works|working|faster|nicer|cleaner|properly|correctly))*"
)
_VAGUE_CRITERION = re.compile(
    r"(?:it|this|that|everything|all|the (?:code|feature|task|app|change|implementation|solution|result))?"
    r"(?: (?:just|all))? ?"
    r"(?:works?|is (?:done|ok|okay|good|fine|finished|complete|completed|working|correct|implemented)"
    r"|looks (?:good|ok|fine)|done|ok|good|finished|complete|completed|implemented|no (?:bugs|errors|issues|problems))"
    r"(?: (?:correctly|properly|fine|well|now|as (?:expected|intended|described|required|it should)))*"
)
_SCRIPT_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@lru_cache(maxsize=128)
def normalised(text: str) -> str:
    """What two texts have in common when they say the same: words in lower case, without punctuation."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def length(text: str) -> int:
    """Characters that carry meaning; a wide one (Chinese, Japanese, Korean) says as much as two others."""
    text = text.strip()
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def is_placeholder(text: str) -> bool:
    """Whether only words stand there that are to be replaced by others: `TODO`, `TBD: description here`, `xxx`.

    `Remove the TODO comments in parser.py` is a task.
    """
    words = normalised(text)
    if not words:
        return bool(text.strip())
    if len(set(words)) == 1 and len(words) > 2:
        return True
    if words.startswith("lorem ipsum"):
        return all(_LATIN_WORD.fullmatch(word) for word in words.split())
    if words.count(" ") >= MOST_WORDS_OF_A_PLACEHOLDER:
        return False
    return all(_FILLING_WORD.fullmatch(word) for word in _PLACEHOLDER.sub(" ", words).split())


def open_slot(text: str) -> str:
    """The first place that was left to be filled in: `<fill in>`, `[insert name]`, `TBD`, `_____`; empty when none."""
    lowered = text.lower()
    if not any(hint in lowered for hint in ("<", "[", "_____", "tbd", "tba", "to be ")):
        return ""
    found = _SLOT.search(text)
    return found[0] if found else ""


def is_monotonous(text: str) -> bool:
    """Whether a description only fills its place: `asdf asdf asdf asdf`. A command may, `make` does."""
    letters = {character for character in set(text.casefold()) if character.isalnum()}
    words = normalised(text).split()
    few_letters = len(letters) < 6 and not _SCRIPT_WITHOUT_SPACES.search(text)
    return few_letters or len(letters) < 3 or (len(words) >= 4 and len(set(words)) * 3 <= len(words) < 100)


def is_only_a_link(text: str) -> bool:
    """Whether there is a link or an issue number and nothing that says what it is about."""
    if len(text) > LONGEST_LINK or not (any(hint in text for hint in ("://", "#", "www.")) or _TICKET.search(text)):
        return False
    rest, links = _LINK.subn(" ", text)
    return links > 0 and all(_WORD_AROUND_A_LINK.fullmatch(word) for word in normalised(rest).split())


def is_vague_task(text: str) -> bool:
    """Whether it names an aim without an object, `Fix all the bugs`, or has fewer than three words."""
    words = normalised(text)
    if words.isascii() or not _SCRIPT_WITHOUT_SPACES.search(text):
        return words.count(" ") < 2 or bool(_VAGUE_TASK.fullmatch(words))
    return False


def is_vague_criterion(text: str) -> bool:
    """Whether nobody could tell if it is met: `It works as expected`."""
    return bool(_VAGUE_CRITERION.fullmatch(normalised(text)))
