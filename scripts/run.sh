#!/bin/sh
# run.sh [DIR [ARGUMENT…]]: a server on this machine's loopback and a client that
# syncs DIR with it (default: the team memory of this checkout); the arguments go
# to client sync. Run again with another DIR it joins the server that runs. Ctrl-C ends what it started, the client first, so
# that its last edits still arrive. What is kept lies in .run below the checkout.
#
# LISTEN=host:port chooses the server's address on its first start. REPO=owner/repo
# chooses the repo.
set -eu
umask 077

root=$(cd "$(dirname "$0")/.." && pwd -P)
state=$root/.run
dir=${1:-}
if [ $# -gt 0 ]; then shift; fi
mkdir -p "$state"

TEAMMEM_CONFIG_DIR=$state/config
TEAMMEM_STATE_DIR=$state/client
export TEAMMEM_CONFIG_DIR TEAMMEM_STATE_DIR
unset TEAMMEM_TOKEN TEAMMEM_TOKEN_FILE TEAMMEM_SERVER TEAMMEM_REPO TEAMMEM_DIR TEAMMEM_DATABASE TEAMMEM_LISTEN TEAMMEM_CONFIG

say() { printf '%s\n' "$*" >&2; }

server='' # process ids of what this run started
client=''

stop() {
	trap '' INT TERM HUP
	if [ -n "$client" ]; then
		kill -INT "$client" 2>/dev/null || :
		wait "$client" 2>/dev/null || :
	fi
	if [ -n "$server" ]; then
		kill -TERM "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
		rm -f "$state/server.pid"
	fi
}
trap stop EXIT
trap 'exit 0' INT TERM HUP

nap() { sleep 0.1 2>/dev/null || sleep 1; }

# answers: does the server at $url take our token?
answers() {
	[ -s "$state/token" ] && [ -n "$url" ] &&
		"$root/bin/client" whoami --quiet --server "$url" --token-file "$state/token" >/dev/null 2>&1
}

# running: is there a server of an earlier run that still runs?
running() {
	[ -s "$state/server.pid" ] && kill -0 "$(cat "$state/server.pid")" 2>/dev/null && answers
}

# start ADDRESS starts the server and finds where it listens. It is put in a
# session of its own where that is possible: Ctrl-C shall reach it last.
start() {
	: >"$state/server.log"
	alone=''
	if command -v setsid >/dev/null 2>&1; then alone=setsid; fi
	$alone "$root/bin/server" --data "$state/data" --listen "$1" >/dev/null 2>"$state/server.log" </dev/null &
	server=$!
	url=''
	tries=0
	while [ -z "$url" ]; do
		url=$(sed -n 's/^teammem server listening on //p' "$state/server.log")
		if [ -z "$url" ] && ! kill -0 "$server" 2>/dev/null; then
			wait "$server" 2>/dev/null || :
			server=''
			return 1
		fi
		tries=$((tries + 1))
		if [ "$tries" -gt 300 ]; then
			say "error: the server does not come up; its log is $state/server.log"
			exit 1
		fi
		nap
	done
	printf '%s\n' "$server" >"$state/server.pid"
	printf '%s\n' "$url" >"$state/url"
}

# The address is kept: what a client has agreed on is bound to it.
url=''
if [ -s "$state/url" ]; then url=$(cat "$state/url"); fi
if running; then
	say "joining the server that runs already"
else
	if [ -n "$url" ]; then
		start "${url#http://}" || { cat "$state/server.log" >&2; exit 1; }
	elif ! start "${LISTEN:-127.0.0.1:8080}"; then
		if [ -n "${LISTEN:-}" ] || ! grep -q 'address already in use' "$state/server.log"; then
			cat "$state/server.log" >&2
			exit 1
		fi
		start 127.0.0.1:0 || { cat "$state/server.log" >&2; exit 1; }
	fi
	if ! answers; then
		name=$(id -un 2>/dev/null | tr -cd 'A-Za-z0-9._-')
		"$root/bin/server" token create --org local --user "${name:-you}" --role member --expires never \
			--data "$state/data" >"$state/token.new" 2>"$state/token.log" || { cat "$state/token.log" >&2; exit 1; }
		mv "$state/token.new" "$state/token"
	fi
fi

# The repo: what is asked for, what the checkout's remote names, or this folder.
repo=${REPO:-}
if [ -z "$repo" ]; then
	repo=$(cd "$root" && "$root/bin/client" where --json 2>/dev/null | tr -d '\n' | sed -n 's/.*"repo": *"\([^"]*\)".*/\1/p')
fi
if [ -z "$repo" ]; then
	repo=local/$(basename "$root" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9._\n-' '-')
fi

cat >&2 <<TEXT

  server               $url   (this machine only; TLS for others is in README.md)
  repo                 $repo
  in a second terminal make run DIR=$root/.run/second
  on a second machine  ssh -N -L ${url##*:}:${url#http://} $(uname -n)     and there, with a copy of
                       $state/token as FILE:
                       client sync DIR --server http://127.0.0.1:${url##*:} --repo $repo --token-file FILE
  Ctrl-C               ends it

TEXT

cd "$root"
exec 3<&0
"$root/bin/client" sync ${dir:+"$dir"} --server "$url" --repo "$repo" --token-file "$state/token" "$@" <&3 &
client=$!
status=0
wait "$client" || status=$?
client=''
exit "$status"
