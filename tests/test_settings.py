"""The environment as a checked value."""

from pathlib import Path

import pytest

from whilly.core.errors import BadSetting
from whilly.settings import VARIABLES, Settings

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "settings.md"


def test_without_variables_everything_has_its_default() -> None:
    settings = Settings.from_environment({})
    assert settings.database_url is None
    assert settings.data_dir.name == "whilly"
    assert settings.log_dir is None
    assert (settings.claude_bin, settings.claude_model) == ("claude", None)


def test_every_variable_changes_something(tmp_path: Path) -> None:
    values = {
        "WHILLY_DATABASE_URL": "postgresql://ida@db.example.org/whilly",
        "WHILLY_DATA_DIR": str(tmp_path / "data"),
        "WHILLY_LOG_DIR": str(tmp_path / "logs"),
        "WHILLY_ALLOWED_HOSTS": "whilly.example.org, 192.0.2.7",
        "WHILLY_PLAN_ID": "bookshop",
        "WHILLY_CONTROL_URL": "https://whilly.example.org",
        "WHILLY_WORKER_ID": "laptop-1",
        "WHILLY_METRICS_TOKEN": "a-long-word",
        "WHILLY_WORKER_BOOTSTRAP_TOKEN": "a-long-word",
        "WHILLY_WORKER_TOKEN": "a-long-word",
        "WHILLY_SUPPRESS_WORKER_TOKEN_WARNING": "1",
        "WHILLY_BUDGET_USD": "2.50",
        "WHILLY_WORKER_TAGS": "gpu, arm",
        "WHILLY_FUNNEL_URL_SOURCE": "file",
        "WHILLY_FUNNEL_URL_FILE": str(tmp_path / "url.txt"),
        "WHILLY_FUNNEL_POLL_SECONDS": "2.5",
        "WHILLY_GIT_TOKEN": "a-long-word",
        "WHILLY_GIT_TOKEN_HOSTS": "git.example.org",
        "WHILLY_GIT_TOKENS": "other.example.org=CORP",
        "WHILLY_GIT_USER": "robot",
        "WHILLY_GIT_OWN_CREDENTIALS": "yes",
        "WHILLY_GIT_PROTOCOLS": "https",
        "WHILLY_BUNDLE_LIMIT_MB": "7",
        "CLAUDE_BIN": "/opt/claude",
        "WHILLY_CLAUDE_MODEL": "sonnet",
        "WHILLY_MODEL": "opus",
        "WHILLY_CLAUDE_PROXY_URL": "http://proxy.example.org:3128",
        "WHILLY_CLAUDE_NO_PROXY": "example.org",
    }
    assert set(values) == set(VARIABLES)
    needed = {"WHILLY_GIT_TOKEN_HOSTS": {"WHILLY_GIT_TOKEN": "a-long-word"}}
    for name, value in values.items():
        without = needed.get(name, {"CORP": "a-longer-word"})
        assert Settings.from_environment({**without, name: value}) != Settings.from_environment(without), name


def test_the_newer_name_of_the_model_wins() -> None:
    assert Settings.from_environment({"WHILLY_MODEL": "opus"}).claude_model == "opus"
    both = {"WHILLY_MODEL": "opus", "WHILLY_CLAUDE_MODEL": "sonnet"}
    assert Settings.from_environment(both).claude_model == "sonnet"


@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_value_is_no_value(name: str) -> None:
    assert Settings.from_environment({name: "  "}) == Settings.from_environment({})


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ("postgres://ida@db/whilly", "postgresql://ida@db/whilly"),
        ("postgresql+asyncpg://ida@db/whilly", "postgresql://ida@db/whilly"),
        ("postgresql://ida@/whilly?host=/run/postgresql", "postgresql://ida@/whilly?host=/run/postgresql"),
        ("postgresql://ida:p%40ss@[::1]:5433/whilly", "postgresql://ida:p%40ss@[::1]:5433/whilly"),
    ],
)
def test_addresses_of_a_postgres(written: str, understood: str) -> None:
    assert Settings.from_environment({"WHILLY_DATABASE_URL": written}).database_url == understood


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WHILLY_DATABASE_URL", "mysql://ida:hunter2@db/whilly"),
        ("WHILLY_DATABASE_URL", "hunter2"),
        ("WHILLY_DATABASE_URL", "postgresql://ida:hunter2@db:port/whilly"),
        ("WHILLY_DATABASE_URL", "postgresql://ida:hunter2@[::1/whilly"),
        ("WHILLY_CLAUDE_PROXY_URL", "socks5://ida:hunter2@proxy"),
        ("WHILLY_CLAUDE_PROXY_URL", "http://"),
        ("WHILLY_PLAN_ID", "two words"),
        ("WHILLY_WORKER_ID", "bell\a"),
        ("WHILLY_DATA_DIR", __file__),
        ("WHILLY_LOG_DIR", __file__),
    ],
)
def test_a_bad_value_is_named_in_one_sentence(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        Settings.from_environment({name: value})
    said = str(refusal.value)
    assert said.startswith(name)
    assert said.endswith(".")
    assert "\n" not in said
    assert "hunter2" not in said


def test_a_password_is_not_shown() -> None:
    settings = Settings.from_environment({"WHILLY_DATABASE_URL": "postgresql://ida:hunter2@db/whilly"})
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_documented(name: str) -> None:
    assert f"| `{name}` | {VARIABLES[name]} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("WHILLY_FUNNEL_URL_SOURCE", "carrier-pigeon", "write one of static, file, postgres"),
        ("WHILLY_FUNNEL_POLL_SECONDS", "soon", "not a number of seconds"),
        ("WHILLY_FUNNEL_POLL_SECONDS", "nan", "not a number of seconds"),
        ("WHILLY_WORKER_TAGS", "gpu,not a tag", "the tag 'not a tag'"),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        Settings.from_environment({name: value})
