#!/bin/sh
# secrets.sh [DIR]: makes the secrets of docker-compose.yml on the first start, each of
# 192 random bits, and leaves those that are there. Every reader has a folder of its own,
# a volume that is mounted nowhere else; therefore the files may be read by any user in
# it, and nobody has to own them.
set -eu
umask 022
root=${1:-/secrets}

word() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# keep FILE VALUE
keep() {
	[ ! -s "$1" ] || return 0
	printf '%s\n' "$2" >"$1.new"
	chmod 0444 "$1.new"
	mv "$1.new" "$1"
}

keep "$root/postgres/password" "$(word)"
keep "$root/server/database" "postgres://teammem:$(cat "$root/postgres/password")@postgres:5432/teammem?sslmode=disable"
keep "$root/provider/client-secret" "$(word)"
keep "$root/grafana/password" "$(word)"
