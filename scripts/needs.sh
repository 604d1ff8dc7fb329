#!/bin/sh
# needs.sh: finds what the tests need beside Go, and on Debian, as root, installs
# what is missing. Elsewhere it says what is missing: the tests that need it are
# skipped then, and with CI set this ends with status 1.
set -u

missing='' # what it is for, one a line
packages=''

# need PACKAGE COMMAND WHAT-FOR
need() {
	command -v "$2" >/dev/null 2>&1 && return
	missing="$missing
  $1: $3"
	packages="$packages $1"
}

look() {
	missing='' packages=''
	need gcc "${CC:-gcc}" "the race detector"
	need git git "checkouts to find projects in"
	need npm npm "an agent to serve, and the inspector of its protocol"
	[ -n "${TEAMMEM_TEST_POSTGRES:-}" ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
		command -v initdb >/dev/null 2>&1 || need postgresql initdb "the store on Postgres"
	[ "$(uname)" != Linux ] || [ -x /usr/sbin/mkfs.xfs ] || need xfsprogs mkfs.xfs "a disk whose plug is pulled"
	[ -x /usr/sbin/pgbouncer ] || need pgbouncer pgbouncer "Postgres behind a pooler"
	[ -x /usr/sbin/nginx ] || need nginx nginx "a proxy that packs answers and takes a megabyte"
	[ "$(uname)" != Linux ] || need systemd systemd-analyze "units as systemd itself reads them"
	need prometheus promtool "what the server says of itself, as Prometheus reads it"
	need chromium chromium "a browser that signs in"
	[ -x /usr/bin/lowntfs-3g ] || need ntfs-3g lowntfs-3g "a file system that folds letter case"
}

# An agent and the inspector of its protocol come from npm, by a script of their own.
agents() {
	"$(dirname "$0")/agents.sh" >/dev/null && return
	[ -z "${CI:-}" ] || exit 1
	echo "the tests that need an agent are skipped" >&2
}

look
[ -n "$packages" ] || { agents; exit 0; }

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing:$packages" >&2
	log=$(mktemp)
	export DEBIAN_FRONTEND=noninteractive
	# The package lists of a fresh machine are empty or old.
	# shellcheck disable=SC2086 # one word a package
	if ! { apt-get update && apt-get install -y --no-install-recommends $packages libc6-dev; } >"$log" 2>&1; then
		tail -20 "$log" >&2
	fi
	rm -f "$log"
	look
	[ -n "$packages" ] || { agents; exit 0; }
fi

echo "missing, and not installed from here:$missing" >&2
if [ -n "${CI:-}" ]; then
	echo "CI is set, and nothing may be skipped" >&2
	exit 1
fi
echo "the tests that need it are skipped" >&2
case $packages in *npm*) ;; *) agents ;; esac
