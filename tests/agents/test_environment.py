"""What agents and checks may see of the worker's environment."""

import pytest

from whilly.agents.claude import ClaudeCode
from whilly.agents.environment import clean_environment, first_given, through_proxy

SECRETS = {
    "WHILLY_WORKER_TOKEN": "canary",
    "WHILLY_DATABASE_URL": "postgresql://u:canary@h/d",
    "AWS_SECRET_ACCESS_KEY": "canary",
    "GITHUB_TOKEN": "canary",
    "GH_TOKEN": "canary",
    "JIRA_API_TOKEN": "canary",
    "OPENAI_API_KEY": "canary",
    "SSH_AUTH_SOCK": "/canary",
    "DBUS_SESSION_BUS_ADDRESS": "canary",
    "GIT_DIR": "/canary",
    "GIT_WORK_TREE": "/canary",
    "GIT_INDEX_FILE": "/canary",
    "GIT_CONFIG_COUNT": "canary",
    "LD_PRELOAD": "/canary.so",
    "PYTHONPATH": "/canary",
    "NODE_OPTIONS": "--canary",
    "BASH_ENV": "/canary",
    "HTTPS_PROXY": "http://u:canary@p",
}


def test_it_is_built_from_nothing() -> None:
    environment = clean_environment({"PATH": "/bin", "HOME": "/home/dev", "LANG": "", **SECRETS})
    assert "canary" not in str(environment)
    assert (environment["PATH"], environment["HOME"]) == ("/bin", "/home/dev")
    assert "LANG" not in environment


def test_nobody_is_asked_anything() -> None:
    environment = clean_environment({})
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert "BatchMode=yes" in environment["GIT_SSH_COMMAND"]
    assert environment["PATH"]


def test_one_key_and_no_second_one() -> None:
    keys = {"B": "2", "A": "", "C": "3"}
    assert first_given(keys, "A", "B", "C") == {"B": "2"}
    assert first_given(keys, "A", "D") == {}


def test_the_proxy_in_both_spellings() -> None:
    environment = through_proxy("http://proxy:8080", "localhost")
    assert environment["HTTPS_PROXY"] == environment["https_proxy"] == "http://proxy:8080"
    assert environment["NO_PROXY"] == environment["no_proxy"] == "localhost"
    assert through_proxy(None, "localhost") == {}


def test_claude_code_sees_its_own_key_and_no_other() -> None:
    keys = {"ANTHROPIC_API_KEY": "key", "CLAUDE_CODE_OAUTH_TOKEN": "canary", **SECRETS}
    environment = ClaudeCode(keys, proxy_url="http://proxy").environment
    assert "canary" not in str(environment)
    assert environment["ANTHROPIC_API_KEY"] == "key"
    assert environment["HTTPS_PROXY"] == "http://proxy"


@pytest.mark.parametrize("folder", ["state", "~/state"])
def test_claude_codes_folder_is_never_inside_the_workspace(folder: str) -> None:
    assert ClaudeCode({"CLAUDE_CONFIG_DIR": folder}).environment["CLAUDE_CONFIG_DIR"].startswith("/")
    assert "CLAUDE_CONFIG_DIR" not in ClaudeCode({"CLAUDE_CONFIG_DIR": ""}).environment
