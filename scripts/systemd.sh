#!/bin/sh
# systemd.sh: what client install makes, taken up by a real manager of systemd: a client
# that syncs under the unit's restrictions is installed, seen by client status, and
# taken away with all that was added. The manager runs in a mount namespace with a
# /run of its own, which takes root on Linux; elsewhere it is said to be skipped.
set -eu
cd "$(dirname "$0")/.."
fail() { printf 'error: %s\n' "$*" >&2; [ ! -f "$work/said" ] || cat "$work/said" >&2; exit 1; }

if [ "${1:-}" != inside ]; then
	manager=''
	for path in /usr/lib/systemd/systemd /lib/systemd/systemd; do [ ! -x "$path" ] || manager=$path; done
	if [ -z "$manager" ] || [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
		echo "skipped: a manager of its own takes systemd, root and unshare" >&2
		exit 0
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	CGO_ENABLED=0 go build -o "$work/bin/" ./cmd/server ./cmd/client
	unshare -m sh scripts/systemd.sh inside "$work" "$manager"
	exit
fi

work=$2 manager=$3
mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/user "$work/home/.config"
XDG_RUNTIME_DIR=/run/user HOME=$work/home TEAMMEM_KEYRING=off
export XDG_RUNTIME_DIR HOME TEAMMEM_KEYRING
unset DBUS_SESSION_BUS_ADDRESS XDG_CONFIG_HOME TEAMMEM_TOKEN TEAMMEM_SERVER TEAMMEM_CONFIG_DIR TEAMMEM_STATE_DIR
cd "$work"

"$manager" --user >"$work/said" 2>&1 &
systemd=$!
bin/server --data "$work/data" --listen 127.0.0.1:0 2>"$work/server.log" &
server=$!
trap 'kill "$systemd" "$server" 2>/dev/null || :; wait' EXIT

# until COMMAND…: for ten seconds at most
until_holds() {
	tries=0
	until "$@" >"$work/last" 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 50 ] || { cat "$work/last" >&2; fail "not in time: $*"; }
		sleep 0.2
	done
}
until_holds systemctl --user show-environment
until_holds grep -q '^teammem server listening' server.log
url=$(sed -n 's/^teammem server listening on //p' server.log)

bin/client login --server "$url" --token-file data/admin.token 2>/dev/null
mkdir notes
echo '# one' >notes/one.md
bin/client install notes --repo acme/notes --yes >"$work/installed" 2>&1 || { cat "$work/installed" >&2; fail "install"; }
until_holds sh -c 'bin/client status --dir notes --json | grep -q "\"state\":\"in sync\".*\"running\":true.*\"service\":{\"installed\":true"'
unit=$(basename "$HOME"/.config/systemd/user/teammem-*.service)
[ "$(systemctl --user is-enabled "$unit")" = enabled ] || fail "$unit is not enabled"
pid=$(systemctl --user show -P MainPID "$unit")
grep -Eq '^Seccomp:[[:space:]]+2' "/proc/$pid/status" || fail "the client runs without the unit's filter"
grep -Eq '^NoNewPrivs:[[:space:]]+1' "/proc/$pid/status" || fail "the client may gain privileges"

# An edit travels under the restrictions, and so does a file that has to be scanned.
echo '# two' >notes/two.md
until_holds sh -c 'bin/client status --dir notes | grep -q "2 entries   0 to push"'
[ "$(systemctl --user show -P NRestarts "$unit")" = 0 ] || fail "the client was started more than once"

bin/client uninstall notes --yes >/dev/null 2>&1 || fail "uninstall"
! kill -0 "$pid" 2>/dev/null || fail "the client still runs"
[ -z "$(find "$HOME" -name 'teammem-*.service')" ] || fail "the unit is still there"
[ ! -e "$HOME/.config/systemd" ] || fail "the folders that were made for it are still there"
echo "a manager of systemd keeps the client at work under its unit's restrictions, and lets it go"
