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
	# Optional packages are left out, which is half of all, unless the machine's node is
	# too old for the agent: a newer one is among them.
	optional=--omit=optional
	[ "$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 20 ] || optional=--include=optional
	mkdir -p "$dir"
	new=$(mktemp -d "$dir/new.XXXXXX")
	trap 'rm -rf "$new"' EXIT
	trap 'exit 1' HUP INT TERM
	cp "$here/package.json" "$here/package-lock.json" "$new/"
	# Not "npm ci", which takes a lock without every optional package of every system for
	# broken. No package's own scripts are run. What the user's npm has in its cache is
	# taken from there, and a registry that cannot be reached is given up within a minute.
	if ! npm install --prefix "$new" --no-save "$optional" --ignore-scripts --no-audit --no-fund --prefer-offline \
		--no-update-notifier --fetch-retries=4 --fetch-retry-factor=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=10000 \
		</dev/null >"$new/log" 2>&1; then
		tail -20 "$new/log" >&2
		exit 1
	fi
	# One that was broken off has changed nothing.
	rm -rf "$dir/node_modules"
	mv "$new/node_modules" "$dir/"
	cp "$here/package-lock.json" "$dir/installed"
fi
printf '%s\n' "$dir"
