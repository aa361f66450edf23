from whilly.worker.known_secrets import secrets_in


def test_what_a_name_calls_a_secret_is_one_unless_it_is_a_word_or_a_path() -> None:
    environ = {
        "ANTHROPIC_API_KEY": "an-invented-key-of-a-test",
        "github_token": "an-invented-token-of-a-test",
        "FEATURE_KEY": "disabled",
        "SSH_KEY": "/home/ann/.ssh/id_ed25519",
        "PATH": "/usr/local/bin:/usr/bin",
        "KEYBOARD_LAYOUT": "de-latin1-nodeadkeys",
    }
    assert secrets_in(environ) == ("an-invented-key-of-a-test", "an-invented-token-of-a-test")
