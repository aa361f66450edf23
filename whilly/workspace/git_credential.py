"""The credential helper that trusted git runs: `python git_credential.py N get`, with the secret behind descriptor N.

A program of its own, that imports nothing of Whilly's: the secret is in no argument and no variable, and is given only
for the host that it belongs to, also when a server redirects to another one.
"""

import json
import os
import sys

LARGEST = 65_536


def main(arguments: list[str]) -> None:
    """Answer git's question, by its protocol of `name=value` lines; say nothing to what is not meant for us."""
    where, *_, verb = arguments
    if verb != "get":
        return
    asked = dict(line.rstrip("\n").split("=", 1) for line in sys.stdin if "=" in line)
    # Windows hands no descriptors on.
    known = os.environ.get("GIT_CREDENTIAL_OF_WHILLY", "{}") if where == "environment" else _behind(int(where))
    secret = json.loads(known or "{}")
    if secret and (asked.get("protocol"), asked.get("host")) == (secret["protocol"], secret["host"]):
        sys.stdout.write(f"username={secret['username']}\npassword={secret['password']}\n")


def _behind(descriptor: int) -> str:
    try:
        return os.read(descriptor, LARGEST).decode()
    except OSError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1:])
