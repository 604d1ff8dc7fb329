#!/bin/sh
# patroni.sh [ARGUMENTS OF THE TEST]: a real cluster under Patroni, whose primary is
# killed and cut off while two servers are written to. It runs in namespaces of its own
# (network, processes, mounts), which take everything with them when it ends. As root,
# on Debian; what is missing is installed.
set -eu
cd "$(dirname "$0")/.."
fail() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }
[ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ] || fail "only root can make network namespaces" "run it as root on Linux"

packages=''
need() { command -v "$2" >/dev/null 2>&1 || [ -x "/usr/sbin/$2" ] || packages="$packages $1"; }
need patroni patroni
need etcd-server etcd
need haproxy haproxy
need pgbouncer pgbouncer
need iproute2 ip
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages="$packages postgresql"
if [ -n "$packages" ]; then
	echo "installing:$packages" >&2
	# shellcheck disable=SC2086 # one word a package
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages; } >/dev/null ||
		fail "not installed:$packages" "install them by hand"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
CGO_ENABLED=0 go build -o "$work/server" ./cmd/server
CGO_ENABLED=0 go test -tags patroni -c -o "$work/patroni.test" ./deploy/patroni
cd deploy/patroni
# The shell is the first process of the namespace: it waits for those whose parent was
# killed, which would otherwise seem to be there still.
mkdir "$work/tmp"
TMPDIR=$work/tmp TEAMMEM_SERVER_BINARY=$work/server unshare --net --mount --pid --fork --kill-child --mount-proc \
	bash -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/netns && "$@"; exit $?' patroni \
	"$work/patroni.test" -test.v -test.count=1 -test.timeout=30m "$@"
