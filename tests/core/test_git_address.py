"""Addresses of repositories: the shapes that are understood, and everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.git_address import BadAddress, address_of, check_protocol, parse_address
from whilly.core.plan import RepoTarget


@pytest.mark.parametrize(
    ("text", "protocol", "site", "path"),
    [
        ("https://github.com/acme/shop.git", "https", "github.com", "/acme/shop.git"),
        ("https://GIT.Example.com:8443/a/b", "https", "git.example.com:8443", "/a/b"),
        ("http://127.0.0.1:3000/shop.git", "http", "127.0.0.1:3000", "/shop.git"),
        ("https://[::1]:3000/shop.git", "https", "[::1]:3000", "/shop.git"),
        ("ssh://git@github.com/acme/shop.git", "ssh", "github.com", "/acme/shop.git"),
        ("ssh://git@github.com:22/acme/shop.git", "ssh", "github.com:22", "/acme/shop.git"),
        ("git@github.com:acme/shop.git", "ssh", "github.com", "acme/shop.git"),
        ("/srv/git/shop.git", "file", "", "/srv/git/shop.git"),
        ("file:///srv/git/shop.git", "file", "", "/srv/git/shop.git"),
        ("C:\\git\\shop", "file", "", "C:\\git\\shop"),
    ],
)
def test_these_are_addresses(text: str, protocol: str, site: str, path: str) -> None:
    address = parse_address(text)

    assert (address.protocol, address.site, address.path) == (protocol, site, path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=x",
        "ext::sh -c touch% /tmp/x",
        "fd::17/foo",
        "git://github.com/acme/shop",
        "ftp://host/x",
        "ssh://-oProxyCommand=x/shop",
        "ssh://-oProxyCommand=x@host/shop",
        "-host:shop",
        "host:-oProxyCommand",
        "https://host/",
        "https://host",
        "https:///x",
        "https://host/a b",
        "https://host/a\nb",
        "https://host/a%0ahost=github.com",
        "https://host/a?x=y",
        "https://host/a#b",
        "https://host:99999/a",
        "https://user:secret@host/a",
        "https://token@host/a",
        "ssh://git:secret@host/a",
        "file://server/share",
        "shop",
        "../shop",
        "./shop",
        "https://ho\u202est/a",
    ],
)
def test_these_are_none(text: str) -> None:
    with pytest.raises(BadAddress) as refused:
        parse_address(text)
    assert "secret" not in str(refused.value)


@given(st.text())
def test_whatever_is_taken_can_be_no_option_and_no_second_line(text: str) -> None:
    try:
        address = parse_address(text)
    except BadAddress:
        return
    assert not address.url.startswith("-")
    assert not address.host.startswith("-")
    assert address.url.isprintable()
    assert "::" not in address.url.partition("/")[0]


def test_a_provider_and_a_name_are_enough() -> None:
    assert address_of(RepoTarget("t", "GitHub", "acme/shop")).url == "https://github.com/acme/shop.git"
    assert address_of(RepoTarget("t", "gitlab", "a/b/c.git")).url == "https://gitlab.com/a/b/c.git"


@pytest.mark.parametrize("target", [RepoTarget("t", "gitea", "a/b"), RepoTarget("t", "github", "../b")])
def test_what_they_do_not_tell_is_asked_for(target: RepoTarget) -> None:
    with pytest.raises(BadAddress):
        address_of(target)


def test_one_repository_by_two_protocols_is_the_same() -> None:
    one = parse_address("https://github.com/Acme/Shop")

    assert one.is_same_repository(parse_address("git@github.com:acme/shop.git"))
    assert not one.is_same_repository(parse_address("git@github.com:acme/shop2.git"))
    assert not parse_address("https://x.org/A").is_same_repository(parse_address("https://x.org/a"))
    assert parse_address("/srv/shop").is_same_repository(parse_address("file:///srv/shop/"))


def test_protocols_are_by_permission_and_plain_http_only_to_this_machine() -> None:
    allowed = frozenset({"https"})
    check_protocol(parse_address("http://localhost:1/x"), allowed)
    for text in ("http://example.org/x", "git@example.org:x", "/srv/x"):
        with pytest.raises(BadAddress):
            check_protocol(parse_address(text), allowed)
