"""Settings for repositories elsewhere."""

import pytest

from whilly.core.errors import BadSetting
from whilly.settings import Settings


def settings(**given: str) -> Settings:
    return Settings.from_environment({"WHILLY_DATA_DIR": "/nonexistent", **given})


def test_a_token_belongs_to_github_unless_hosts_are_named() -> None:
    assert settings(WHILLY_GIT_TOKEN="t0ken").git_tokens == {"github.com": "t0ken"}
    named = settings(WHILLY_GIT_TOKEN="t0ken", WHILLY_GIT_TOKEN_HOSTS="Git.example.org:8443, [::1]:80")
    assert named.git_tokens == {"git.example.org:8443": "t0ken", "[::1]:80": "t0ken"}


def test_further_hosts_name_the_variables_of_their_tokens() -> None:
    found = settings(WHILLY_GIT_TOKEN="a", WHILLY_GIT_TOKENS="git.example.org=CORP,x.org=OTHER", CORP="b", OTHER="c")
    assert found.git_tokens == {"github.com": "a", "git.example.org": "b", "x.org": "c"}
    assert "CORP" not in repr(found)
    assert "git_tokens" not in repr(found)


@pytest.mark.parametrize(
    "given",
    [
        {"WHILLY_GIT_TOKENS": "git.example.org=secret-token-value"},
        {"WHILLY_GIT_TOKENS": "git.example.org=MISSING"},
        {"WHILLY_GIT_TOKENS": "https://git.example.org=CORP", "CORP": "x"},
        {"WHILLY_GIT_TOKEN": "two words"},
        {"WHILLY_GIT_TOKEN": "x", "WHILLY_GIT_TOKEN_HOSTS": "-x"},
        {"WHILLY_GIT_PROTOCOLS": "ext"},
        {"WHILLY_GIT_PROTOCOLS": ","},
        {"WHILLY_GIT_OWN_CREDENTIALS": "maybe"},
        {"WHILLY_BUNDLE_LIMIT_MB": "0"},
        {"WHILLY_BUNDLE_LIMIT_MB": "many"},
    ],
)
def test_what_makes_no_sense_is_refused_without_the_secret(given: dict[str, str]) -> None:
    with pytest.raises(BadSetting) as refused:
        settings(**given)
    assert "secret" not in str(refused.value)
    assert "two words" not in str(refused.value)


def test_the_rest_has_defaults() -> None:
    found = settings()
    assert (found.git_user, found.git_own_credentials, found.bundle_limit_mb) == ("x-access-token", False, 100)
    assert found.git_protocols == {"https", "ssh", "file"}
    assert settings(WHILLY_GIT_OWN_CREDENTIALS="Yes", WHILLY_GIT_PROTOCOLS="https").git_own_credentials
