"""Whether a task's words ask for a person, which only its `review` field can get."""

import re

_MENTIONS = ("review", "approv", "sign", "ask ", "confirm", "permission", "consent")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_HOLD = re.compile(
    r"\b(?:do not|don'?t|never|must not|may not)\b.{0,20}"
    r"\b(?:merge|deploy|start|proceed|continue|apply|run|push|release|commit|go)\b.{0,60}"
    r"\b(?:without|until|before|unless)\b.{0,60}"
    r"\b(?:review|approv|sign(?:ed)?[- ]?off|confirm|permission|consent)"
)
_NEGATED = re.compile(
    r"(?:\b(?:no|not|without|never|skip|omit|bypass|needn'?t|nor)\b|n't\b)(?:\W+\w+){0,4}?\W+"
    r"(?:review|approval|approved|reviewed|sign-?\s?off)"
)
_REVIEW = (
    r"(?:reviews?|approvals?|sign-?\s?offs?)\b"
    r"(?!\s+(?:are|badges?|buttons?|can|flows?|forms?|is|lists?|must|pages?|queues?|requests?|should|stat(?:e|us)|workflows?)\b)"
)
_NEEDS = (
    r"(?:needs?|requires?|awaits?|awaiting|waits? for|waiting for|pending|subject to|get|obtain|ask for)\s+"
    r"(?:(?:a|an|the|explicit|prior|final|careful|human|manual|my|our|security|legal|maintainer|owner|lead|code|peer)"
    rf"'?s?\s+)*{_REVIEW}"
)
_TASK = (
    r"\b(?:this|the) "
    r"(?:task|change|work|result|pr|pull request|patch|diff|branch|step|migration|implementation|plan)\b"
)
_SOMEBODY = r"(?:me|us|a (?:human|person|maintainer)|someone|somebody|the (?:owner|maintainer|team|user|lead))"
_WISHES = [
    re.compile(rf"^\W*(?:please |also |then |note: |it )?{_NEEDS}"),
    re.compile(rf"{_TASK}.{{0,40}}?\b{_NEEDS}"),
    re.compile(
        rf"{_TASK}.{{0,20}}\b(?:must|should|has to|needs to|have to|shall) (?:first )?"
        r"be (?:reviewed|approved|signed off)\b"
    ),
    re.compile(rf"\bask {_SOMEBODY}\b.{{0,40}}\b(?:before|first)\b"),
    re.compile(rf"\b(?:let|have|get) {_SOMEBODY}\b.{{0,20}}\b(?:review|approve|sign off)\b"),
    re.compile(r"\bi(?:'d| would)? (?:want|need|like) to (?:review|approve)\b"),
]


def asks_for_review(text: str) -> str:
    """The sentence that asks for a person's review or approval of this task; empty when none does.

    Said of the product (`orders above 100 need manual approval`) or denied (`no review needed`), it asks for nothing.
    """
    lowered = text.lower()
    if not any(mention in lowered for mention in _MENTIONS):
        return ""
    for sentence in _SENTENCE_END.split(text):
        words = " ".join(sentence.casefold().replace("\u2019", "'").split())
        if _HOLD.search(words) or (not _NEGATED.search(words) and any(wish.search(words) for wish in _WISHES)):
            return sentence.strip()
    return ""
