#!/bin/sh
# agents.sh: installs the agent and the inspector that tests run, at the versions of
# scripts/agents/package-lock.json, with the npm that the machine has. They lie in a
# cache directory, TEAMMEM_AGENTS or teammem/agents below the user's; its name is
# printed. Done once, it does nothing more. Where there is no npm, or it cannot reach
# its registry, it ends with status 1 and the tests that need an agent are skipped.
set -eu

here=$(cd "$(dirname "$0")/agents" && pwd -P)
dir=${TEAMMEM_AGENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/teammem/agents}

if ! cmp -s "$here/package-lock.json" "$dir/installed"; then
	command -v npm >/dev/null 2>&1 || { echo "there is no npm to install an agent with" >&2; exit 1; }
	echo "installing an agent and the protocol's inspector into $dir" >&2
	mkdir -p "$dir"
	log=$(mktemp)
	cp "$here/package.json" "$here/package-lock.json" "$dir/"
	# Not "npm ci", which takes a lock without every optional package of every system for
	# broken. No package's own scripts are run.
	if ! npm install --prefix "$dir" --no-save --ignore-scripts --no-audit --no-fund >"$log" 2>&1; then
		tail -20 "$log" >&2
		rm -f "$log"
		exit 1
	fi
	rm -f "$log"
	cp "$here/package-lock.json" "$dir/installed"
fi
printf '%s\n' "$dir"
