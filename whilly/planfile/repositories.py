"""Where a plan came from, and the repositories that its tasks work in."""

import re

from whilly.core.git_address import BadAddress, parse_address
from whilly.core.names import check_id
from whilly.core.plan import Origin, RepoTarget
from whilly.planfile.fields import Fields
from whilly.planfile.problems import quoted
from whilly.planfile.schema import ORIGIN_KEYS, REPO_TARGET_KEYS

_NEEDED = {"id": '"shop"', "provider": '"github"'}
_TRANSPORT_HELPER = re.compile(r"\w+::")
_CREDENTIALS_IN_URL = re.compile(r"https?://[^/\s]*@", re.IGNORECASE)


def read_repo_targets(plan: Fields) -> tuple[RepoTarget, ...]:
    """The declared repositories; their ids are unique, also when case is ignored."""
    targets: dict[str, RepoTarget] = {}
    for fields in plan.objects("repo_targets"):
        target = _read_repo_target(fields)
        if not target.id:
            continue
        if target.id.casefold() in targets:
            fields.problem("id", f"Two repo_targets have the id {quoted(target.id)}", "Give each its own id.")
        else:
            targets[target.id.casefold()] = target
    return tuple(targets.values())


def read_origin(plan: Fields) -> Origin | None:
    """Where the plan came from; None when it does not say."""
    fields = plan.inner("origin")
    if fields is None:
        return None
    fields.tell_ignored(ORIGIN_KEYS, "an origin")
    return Origin(
        system=_under_one_name(fields, ("system", "origin_system", "type"), '"github"'),
        ref=_under_one_name(fields, ("ref", "origin_ref", "external_ref"), '"acme/shop#17"'),
        url=fields.text("url"),
        title=fields.text("title"),
        content_hash=fields.text("content_hash"),
        prd_file=fields.text("prd_file"),
        decomposition_mode=fields.text("decomposition_mode"),
    )


def _read_repo_target(fields: Fields) -> RepoTarget:
    fields.require(_NEEDED, REPO_TARGET_KEYS)
    fields.tell_ignored(REPO_TARGET_KEYS, "a repo target")
    target_id = fields.text("id")
    if fields.has("id") and (wrong := check_id(target_id)) and target_id:
        fields.problem("id", f"The id {quoted(target_id)} {wrong}", "Use letters, digits, ., _ and -.")
    target = RepoTarget(
        id=target_id,
        provider=fields.filled("provider"),
        repo_full_name=_under_one_name(fields, ("repo_full_name", "repo"), '"acme/shop"'),
        clone_url=fields.text("clone_url"),
        default_branch=fields.text("default_branch"),
        credential_policy=fields.text("credential_policy"),
    )
    name_key = "repo" if fields.has("repo") else "repo_full_name"
    _check_argument(fields, name_key, target.repo_full_name)
    _check_argument(fields, "clone_url", target.clone_url)
    _check_argument(fields, "default_branch", target.default_branch)
    if _CREDENTIALS_IN_URL.match(target.clone_url):
        fields.problem("clone_url", '"clone_url" contains a user name or a token', "Write the address without it.")
    elif target.clone_url and _is_plain(target.clone_url):
        _check_address(fields, target.clone_url)
    return target


def _check_address(fields: Fields, clone_url: str) -> None:
    """Refuse what no worker could clone. The address is not repeated: it may hold a password."""
    try:
        parse_address(clone_url)
    except BadAddress:
        fields.problem(
            "clone_url",
            '"clone_url" is not the address of a git repository',
            'Write "https://host/owner/name.git", "git@host:owner/name.git" or the whole path of a folder.',
        )


def _check_argument(fields: Fields, key: str, value: str) -> None:
    """Refuse what git would take for an option or for a command to run."""
    if not _is_plain(value):
        fields.problem(key, f'"{key}" is {quoted(value)}, which git would not take for a name', "Write a plain name.")


def _is_plain(value: str) -> bool:
    return not (value.startswith("-") or _TRANSPORT_HELPER.match(value)) and value.isprintable()


def _under_one_name(fields: Fields, names: tuple[str, ...], example: str) -> str:
    given = [name for name in names if fields.has(name)]
    if not given:
        others = " or ".join(f'"{name}"' for name in names[1:])
        fields.problem(None, f'"{names[0]}" is missing', f'Add "{names[0]}": {example} (also understood: {others}).')
        return ""
    if len(given) > 1 and len({fields.text(name) for name in given}) > 1:
        fields.problem(given[1], f'"{given[0]}" and "{given[1]}" say different things', "Keep one of them.")
    return fields.filled(given[0])
