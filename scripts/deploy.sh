#!/bin/sh
# deploy.sh [--short]: checks what an operator is given: docker-compose.yml, the secrets
# that it makes, the manifests of Kubernetes, the units of systemd, the property list of
# launchd, and the Dockerfile. --short leaves out building the image and what it takes.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

(cd tools/deploycheck && go build -o "$work/deploycheck" .)
"$work/deploycheck" "$(pwd -P)"

# The secrets: made once, each start finds them, and no two machines have the same.
for machine in one two; do
	for reader in postgres server provider grafana; do mkdir -p "$work/$machine/$reader"; done
	sh deploy/compose/secrets.sh "$work/$machine"
done
first=$(cat "$work/one"/*/*)
sh deploy/compose/secrets.sh "$work/one"
[ "$first" = "$(cat "$work/one"/*/*)" ] || fail "a second start makes other secrets"
for secret in postgres/password provider/client-secret grafana/password; do
	[ "$(wc -c <"$work/one/$secret")" -eq 49 ] || fail "$secret is not 48 digits"
	! cmp -s "$work/one/$secret" "$work/two/$secret" || fail "$secret is the same on two machines"
done
grep -q ":$(cat "$work/one/postgres/password")@postgres:" "$work/one/server/database" || fail "the server is given another password than Postgres"
echo "the secrets are random, and made once"

if command -v systemd-analyze >/dev/null 2>&1; then
	unit=$work/teammem-server.service
	# The program is not installed here; everything else is as it stands.
	sed 's,/usr/local/bin/server,/bin/sh,' deploy/systemd/teammem-server.service >"$unit"
	said=$(systemd-analyze verify --man=no --recursive-errors=no "$unit" 2>&1 | grep -F teammem-server || :)
	[ -z "$said" ] || fail "systemd says: $said"
	# 0 is all shut, 100 all open; 15 is an exposure of 1.5.
	systemd-analyze security --offline=yes --no-pager --threshold=15 "$unit" >"$work/security" 2>&1 || { tail -3 "$work/security" >&2; fail "the unit leaves too much open"; }
	tail -1 "$work/security"
else
	[ -z "${CI:-}" ] || fail "there is no systemd-analyze"
	echo "skipped: there is no systemd-analyze to read the units" >&2
fi

if [ "${1:-}" = --short ]; then
	scripts/dockerfile.sh --no-build
	exit
fi
(cd tools/deploycheck && go test ./...)
scripts/systemd.sh
scripts/dockerfile.sh
