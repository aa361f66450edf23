#!/usr/bin/env bash
# A control plane and a worker on one host, over loopback, from nothing to DONE. Needs git and an installed Whilly;
# no key, no Docker, no network. Everything lies in one temporary folder that is gone in the end.
#
#   docs/demo-remote-worker.sh            BIN=/path/to/venv/bin docs/demo-remote-worker.sh
set -euo pipefail

bin=${BIN:-$(dirname "$(command -v whilly || { echo "Install whilly first, or set BIN." >&2; exit 2; })")}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/wdemo.XXXXXX")
server=""

finish() {
    local code=$?
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    # It would end by itself a moment after the last command, but its folder goes now.
    control db stop >/dev/null 2>&1 || true
    [ "$code" -eq 0 ] || { echo "--- the server said:"; cat "$scratch/server.err" 2>/dev/null || true; } >&2
    rm -rf "$scratch"
    exit "$code"
}
trap finish EXIT

say() { printf '\n> %s\n' "$*"; }

# What this machine's own settings say is not what the demo is about.
for name in $(compgen -e | grep '^WHILLY_' || true); do unset "$name"; done
export HOME=$scratch GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@users.example
export GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@users.example
# The two machines: what each of them keeps is in a folder of its own.
control() { WHILLY_DATA_DIR=$scratch/control "$bin/whilly" "$@"; }
remote() { WHILLY_DATA_DIR=$scratch/remote "$@"; }

say "A repository that both machines reach, as a forge would be"
git init --quiet --bare --initial-branch=main "$scratch/shop.git"
git init --quiet --initial-branch=main "$scratch/first"
echo "A small shop." >"$scratch/first/README.md"
git -C "$scratch/first" add . && git -C "$scratch/first" commit --quiet --message "Begin"
git -C "$scratch/first" push --quiet "$scratch/shop.git" main

cat >"$scratch/plan.json" <<PLAN
{
  "plan_id": "shop",
  "project": "A small shop",
  "repo_targets": [
    {"id": "shop", "provider": "git", "repo_full_name": "demo/shop", "clone_url": "file://$scratch/shop.git"}
  ],
  "tasks": [
    {"id": "S-1", "status": "PENDING", "priority": "high", "repo_target_id": "shop",
     "description": "Write down what the shop sells, in a file of its own.",
     "acceptance_criteria": ["The file is there."], "test_steps": ["git show --stat"]},
    {"id": "S-2", "status": "PENDING", "priority": "medium", "repo_target_id": "shop", "dependencies": ["S-1"],
     "worker_tags": ["loopback"], "description": "Add prices to what the shop sells.",
     "acceptance_criteria": ["Each thing has a price."], "test_steps": ["git show --stat"]}
  ]
}
PLAN

say "The control plane"
control plan import "$scratch/plan.json"
# Not through the function: in the background that is a shell around the server, and ending it leaves the server alone.
WHILLY_DATA_DIR=$scratch/control "$bin/whilly" server --port 0 >"$scratch/server.out" 2>"$scratch/server.err" &
server=$!
address=""
for _ in $(seq 300); do
    address=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$scratch/server.out")
    [ -z "$address" ] || break
    kill -0 "$server" || { echo "The server did not start." >&2; exit 1; }
    sleep 0.1
done
[ -n "$address" ] || { echo "The server gave no address within 30 s." >&2; exit 1; }
echo "It answers at $address."

say "A bootstrap token lets a machine join; the machine gets a bearer of its own"
bootstrap=$(control admin bootstrap mint --owner ann@users.example)
bearer=$(remote "$bin/whilly" worker register --connect "$address" --bootstrap-token "$bootstrap" --plan shop)

say "The worker, with a scripted agent: one attempt each, then it ends"
for _ in 1 2; do
    remote "$bin/whilly-worker" --connect "$address" --token "$bearer" --plan shop \
        --agent scripted --tag loopback --once
done

say "What came of it"
control worker list
for task in S-1 S-2; do
    control why shop "$task"
done
[ "$(control plan export shop | grep -c '"status": "DONE"')" -eq 2 ]
git -C "$scratch/shop.git" log --oneline --graph --branches='whilly/shop/*'
