"""Whether a test step is something that can be run, or only something to look at."""

import re

_PROGRAM = re.compile(
    r"ant|bash|bats|bazel|behave|bun|bundle|cargo|cat|cd|cmake|composer|coverage|ctest|curl|cypress|dart|deno|diff|docker"
    r"|docker-compose|dotnet|eslint|flake8|flutter|gcc|ghc|git|go|golangci-lint|gradle|grep|helm|http|java|jest|jq|just"
    r"|kubectl|lein|ls|make|mix|mocha|mvn|mypy|nix|node|nox|npm|npx|perl|php|phpunit|pip|pipenv|playwright|pnpm|poetry"
    r"|pre-commit|psql|pwsh|pylint|pyright|pytest|python3?|Rscript|rails|rake|redis-cli|rspec|rubocop|ruby|ruff|rustc|sbt"
    r"|sed|sh|shellcheck|sqlite3|stack|swift|systemctl|task|terraform|test|tox|tsc|uvx?|vitest|wget|which|whilly"
    r"|xcodebuild|yarn|zig|zsh"
)
_ENOUGH_ALONE = re.compile(r"pytest|make|tox|nox|just")
_BEGINNING = re.compile(
    r"(?:run|execute|call|start|invoke|type|use|then|and|with|[$>%#]|\d+[.)]|[-*])[:,]?\s+", re.IGNORECASE
)
_QUOTED = re.compile(r"`([^`\n]+)`")
_ASSIGNMENTS = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s+)+")
_GOES_ON_IN_ENGLISH = re.compile(
    r"\S+\s+(?:the|a|an|sure|that|if|whether|it|this|all|is|are|to|for|with|every|each)\b", re.IGNORECASE
)
_PATH = re.compile(r"(?:\.{1,2}/|~/|/)[\w./-]+|[\w./-]+\.(?:sh|py|js|ts|rb|pl|ps1|bat|exe)")
_NAME = re.compile(r"[a-z][\w.+-]*")
_OPTION = re.compile(r"--?[A-Za-z]")


def looks_like_command(step: str) -> bool:
    """Whether the step names a command: by a known program, a path, an option, or backticks around it.

    `Run pytest -q` does; `Make sure the page opens` and `Test the form by hand` do not.
    """
    return _is_command(step) or any(_is_command(text, quoted=True) for text in _QUOTED.findall(step))


def _is_command(text: str, *, quoted: bool = False) -> bool:
    text = text.strip()
    while prefix := _BEGINNING.match(text):
        text = text[prefix.end() :]
    if assignments := _ASSIGNMENTS.match(text):
        text = text[assignments.end() :]
    first, *rest = text.split() or [""]
    if _PROGRAM.fullmatch(first):
        sentence = not rest or _GOES_ON_IN_ENGLISH.match(text)
        return quoted or not sentence or bool(_ENOUGH_ALONE.fullmatch(first) and not rest)
    if _PATH.fullmatch(first):
        return True
    return bool(_NAME.fullmatch(first)) and any(_OPTION.match(word) for word in rest)
