import base64
import hashlib
import json
import re
import textwrap
import uuid
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whilly.core.redaction import LONGEST_LINE, Redactor, is_storable, restored, storable

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def chance(length: int, seed: str = "") -> str:
    """Looks random, is the same in every run; ends with a digit as every real credential has one."""
    digits = "".join(hashlib.sha256(f"{seed}{number}".encode()).hexdigest() for number in range(length // 64 + 1))
    return "".join(LETTERS[int(digits[at : at + 2] or "0", 16) % 62] for at in range(length - 1)).ljust(length, "7")


CREDENTIALS = {
    "whilly": "whl_wk_" + chance(49),
    "github": "ghp_" + chance(36),
    "github app": "ghs_" + chance(40),
    "github fine-grained": "github_pat_" + chance(22) + "_" + chance(59),
    "gitlab": "glpat-" + chance(20),
    "anthropic": "sk-ant-api03-" + chance(93),
    "openai": "sk-proj-" + chance(48),
    "openai, older": "sk-" + chance(48),
    "slack bot": "xoxb-123456789012-123456789012-" + chance(24),
    "slack refresh": "xoxe.xoxp-1-" + chance(40),
    "slack app": "xapp-1-A0123456789-1234567890123-" + chance(40),
    "aws": "AKIA" + chance(16).upper(),
    "aws, temporary": "ASIA" + chance(16).upper(),
    "google": "AIza" + chance(35),
    "npm": "npm_" + chance(36),
    "pypi": "pypi-AgEIcHlwaS5vcmc" + chance(60),
    "vault": "hvs." + chance(24),
    "buildkite": "bkua_" + hashlib.sha1(b"x").hexdigest(),
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0{chance(300)}.{chance(43)}",
}
IN_CONTEXT = {
    "basic": ("Authorization: Basic {}", base64.b64encode(b"me:hunter22").decode()),
    "bearer": ("authorization: bearer {}", chance(24)),
    "bearer in JSON": ('{{"Authorization": "Bearer {}"}}', chance(24)),
    "bare authorization": ("AUTHORIZATION: {}", chance(32)),
    "cookie": ("Cookie: {}", "session=" + chance(20)),
    "set-cookie": ("set-cookie: {}", "sid=" + chance(20) + "; Path=/"),
    "api key header": ("X-Api-Key: {}", chance(24)),
    "api key in curl": ("curl -H 'x-api-key: {}' https://example.com", chance(24)),
    "url": ("https://me:{}@example.com/x.git", "hunter2-hunter"),
    "url without user": ("redis://:{}@example.com", "hunter2"),
    "token in url": ("https://{}@example.com/x.git", chance(40)),
    "postgres url": ("postgresql://whilly:{}@db:5432/whilly", "pa%24s[w]rd"),
    "connection string": ("host=db user=me password={} dbname=x", "hunter2"),
    "connection string, quoted": ("dbname=x password={} host=db", "'hunter 2'"),
    "connection string, end": ("host=db user=me password={}", "hunter2"),
    "env": ("GITHUB_TOKEN={}", chance(20)),
    "env export": ('export DB_PASSWORD="{}"', "hunter2-hunter"),
    "env key": ("STRIPE_API_KEY={}", chance(20)),
    "query": ("https://example.com/?access_token={}&x=1", chance(20)),
    "aws secret": ('aws_secret_access_key = "{}"', chance(39) + "/"),
    "aws secret in JSON": ('"SecretAccessKey": "{}"', chance(39) + "/"),
}
PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *textwrap.wrap(chance(1600, "pem"), 64), "-----END RSA PRIVATE KEY-----"]
)
HARMLESS = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    str(uuid.UUID(int=2**100 + 12345)),
    "sha256:" + hashlib.sha256(b"image").hexdigest(),
    "task-force-of-the-year-2031-in-the-risk-management-department",
    "disk-usage-report-for-2031-by-department",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer <your token here>",
    'headers["Authorization"] = "Bearer " + token',
    "Bearer authentication is required",
    "password=password, user=user, host=host",
    'connect(host=host, user="me", password=settings.password)',
    "PASSWORD=$(pass show db)",
    "TOKEN=${GITHUB_TOKEN}",
    "MAX_TOKENS=100000000000",
    "https://example.com:8080/a@b",
    "git@github.com:owner/name.git",
    "ssh://git@example.com/owner/name.git",
    "mailto:someone@example.com",
    "document.cookie = 'a=b'",
    "cookie: Cookie = field()",
    'if "-----BEGIN PRIVATE KEY-----" in text:\n    return parse(text)',
    "-----BEGIN CERTIFICATE-----\n" + "\n".join(textwrap.wrap(chance(600), 64)),
    "-----BEGIN PUBLIC KEY-----\n" + "\n".join(textwrap.wrap(chance(300), 64)),
    "secret_hash = " + hashlib.sha1(b"y").hexdigest(),
    "eyJust a word",
    "the AKIASAN company",
]


@pytest.mark.parametrize("secret", CREDENTIALS.values(), ids=CREDENTIALS)
@pytest.mark.parametrize("around", ["{}", "token: {}.", "({})", '{{"text":"line\\n{}\\n"}}', "a%0A{}%0A", "x={}&y"])
def test_a_credential_is_known_by_its_looks(secret: str, around: str) -> None:
    text = Redactor().text(around.format(secret))
    assert secret not in text
    assert secret[-20:] not in text
    assert "[redacted:" in text


@pytest.mark.parametrize(("around", "secret"), IN_CONTEXT.values(), ids=IN_CONTEXT)
def test_a_credential_is_known_by_its_place(around: str, secret: str) -> None:
    text = Redactor().text(f"first line\n{around.format(secret)}\nlast line")
    assert secret not in text
    assert "[redacted:" in text
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor(["some-secret-value"]).text(text) == text


def test_the_standard_library_has_no_secrets() -> None:
    folder = Path(json.__file__).parent.parent
    sources = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.py"))]
    assert sum(map(len, sources)) > 3_000_000
    redactor = Redactor([chance(40, "mine")])
    changed = [line for text in sources for line in redactor.text(text).splitlines() if "[redacted:" in line]
    assert all("://" in line or "user:" in line for line in changed), changed
    assert len(changed) <= 3


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        PEM.replace("\n", "\r\n"),
        json.dumps({"key": PEM}),
        json.dumps({"key": json.dumps(PEM)}),
        "".join(f"    {line}\n" for line in PEM.splitlines()),
        "".join(f"+{line}\n" for line in PEM.splitlines()),
        "".join(f"2031-03-02T12:00:00Z INFO {line}\n" for line in PEM.splitlines()),
        PEM.replace("\n", " "),
        PEM.rsplit("\n", 1)[0],
        PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n", 1),
        PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    ],
)
def test_a_private_key_is_hidden_however_it_is_printed(text: str) -> None:
    hidden = Redactor().text(f"before\n{text}\nafter the key")
    assert not any(line[:30] in hidden for line in PEM.splitlines()[1:-1])
    assert hidden.startswith("before\n")
    assert hidden.endswith("\nafter the key")


def test_many_keys_that_never_begin_cost_nothing() -> None:
    text = "-----BEGIN PRIVATE KEY-----\n" * 3_000
    assert Redactor().text(text) == text


SECRETS = st.text(st.sampled_from(LETTERS + "+/=_-.!$&'\"\\%:@ éß修🚀"), min_size=12, max_size=90).filter(
    lambda value: value == value.strip() and len(set(value)) > 5
)
ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda value: value,
    "JSON": json.dumps,
    "JSON, not ASCII": lambda value: json.dumps(value, ensure_ascii=False),
    "JavaScript": lambda value: json.dumps(value).replace("/", "\\/"),
    "URL": lambda value: quote(value, safe=""),
    "query": quote_plus,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 after a name": lambda value: base64.b64encode(f"x-access-token:{value}".encode()).decode(),
    "base64 after another": lambda value: base64.b64encode(f"me:{value}\n".encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "wrapped base64": lambda value: base64.encodebytes(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@settings(max_examples=40)
@given(secret=SECRETS)
def test_a_known_value_is_hidden_in_every_spelling(encode: Callable[[str], str], secret: str) -> None:
    written = encode(secret)
    hidden = re.sub(r"\[redacted:secret(:\w+)?\]", "", Redactor([secret]).text(f"<<{written}>>"))
    core = written.strip('"\n=')
    assert core not in hidden
    assert core[4:-4] not in hidden


@settings(max_examples=150)
@given(
    lines=st.lists(
        st.sampled_from([*CREDENTIALS.values(), *(around.format(value) for around, value in IN_CONTEXT.values()), PEM])
        | st.text(max_size=20)
        | st.sampled_from(HARMLESS),
        max_size=6,
    ),
    between=st.sampled_from(["\n", " ", "\r\n", ", "]),
    cuts=st.lists(st.integers(0, 4_000), max_size=12),
)
def test_a_stream_gives_what_the_whole_text_gives(lines: list[str], between: str, cuts: list[int]) -> None:
    text = between.join(lines)
    edges = [0, *sorted(cuts), len(text)]
    stream = Redactor(["some secret value"])
    told = [stream.feed(text[start:end]) for start, end in pairwise(edges)]
    assert "".join([*told, stream.flush()]) == Redactor(["some secret value"]).text(text)


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_known_value_cut_at_every_place_is_hidden(size: int) -> None:
    secret = chance(56, "cut")
    text = f"some text with {secret} in it, and {secret}\n" * 40
    stream = Redactor([secret])
    told = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    whole = "".join(told) + stream.flush()
    assert secret[:20] not in whole
    assert whole.count("[redacted:secret:") == 80


@pytest.mark.parametrize("separator", [" ", ",", "", '","', "A"])
def test_a_line_without_end_is_told_in_pieces_and_its_secrets_are_not(separator: str) -> None:
    secrets = [chance(56, "exact"), CREDENTIALS["jwt"], CREDENTIALS["github"], json.dumps(PEM)[1:-1]]
    filler = ("lorem-ipsum dolor " if separator != "A" else "Zm9vYmFy") * 700
    text = separator.join(f"{filler}{separator}{secret}{separator}" for secret in secrets * 8)
    stream = Redactor([secrets[0]])
    told = [stream.feed(text[at : at + 1_000]) for at in range(0, len(text), 1_000)]
    assert sum(map(len, told)) > len(text) - 3 * LONGEST_LINE - len("".join(secrets * 8))
    whole = "".join([*told, stream.flush()])
    assert chance(56, "exact")[:20] not in whole
    assert secrets[2] not in whole or separator == "A"
    assert PEM.splitlines()[5] not in whole
    if separator not in ("", "A"):
        assert secrets[1][-40:] not in whole


def test_a_very_long_secret_in_small_pieces_takes_no_longer_than_its_length() -> None:
    stream = Redactor()
    told = [stream.feed(piece) for piece in ["Authorization: Bearer ", *["abc4567"] * 250_000, "\nend\n"]]
    assert "".join(told).endswith("\nend\n")
    assert "".join(told).startswith("Authorization: Bearer [redacted:")


def test_equal_secrets_are_recognised_as_equal() -> None:
    text = Redactor().text(f"{CREDENTIALS['github']} {CREDENTIALS['github']} {CREDENTIALS['github app']}").split()
    assert text[0] == text[1]
    assert text[0] != text[2]


def test_a_short_password_gets_no_digest_that_would_help_to_guess_it() -> None:
    assert Redactor(["hunter22"]).text("it is hunter22") == "it is [redacted:secret]"
    assert Redactor().text("https://me:hunter2@example.com") == "https://me:[redacted:url_password]@example.com"


def test_the_lines_of_a_key_file_in_a_variable_are_hidden_one_by_one() -> None:
    value = '{\n  "client": "' + chance(30, "a") + '",\n  "key": "' + chance(30, "b") + '"\n}'
    hidden = Redactor([value]).text(
        'export KEY=\'{\n  "client": "' + chance(30, "a") + f'"\nkey is "key": "{chance(30, "b")}"'
    )
    assert chance(30, "a") not in hidden
    assert chance(30, "b") not in hidden


def test_the_beginning_of_a_secret_is_hidden_too() -> None:
    secret = chance(56, "cut off")
    assert secret[:20] not in Redactor([secret]).text(f"{secret[:30]}… (shortened)")


def test_values_too_short_to_be_secrets_do_not_tear_holes() -> None:
    assert Redactor(["", " ", "a", "pass"]).text("a pass is a pass") == "a pass is a pass"


@pytest.mark.parametrize(
    "secret", [*CREDENTIALS.values(), *(around.format(value) for around, value in IN_CONTEXT.values())]
)
def test_redacting_twice_changes_nothing(secret: str) -> None:
    once = Redactor().text(f"x {secret}\n")
    assert Redactor().text(once) == once


@given(
    st.text(st.characters(exclude_categories=[])) | st.from_regex(r"(\\|u0000|\\u005c|\\ud83d|\x00|a)*", fullmatch=True)
)
def test_any_text_can_be_stored_and_read_back(text: str) -> None:
    stored = storable(text)
    assert "\0" not in stored
    stored.encode("utf-8")
    assert is_storable(stored)
    assert restored(stored) == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\0b", r"a\u0000b"),
        ("half " + chr(0xD83D), r"half \ud83d"),
        (r"spelled \u0000", r"spelled \u005cu0000"),
        ("🚀 修复 \\n \\u00e9", "🚀 修复 \\n \\u00e9"),
    ],
)
def test_only_what_postgres_refuses_is_escaped(text: str, stored: str) -> None:
    assert storable(text) == stored
