#!/bin/sh
# dockerfile.sh [--no-build]: replays the Dockerfile without a container engine. Its
# lines are read, not known: each stage becomes a folder below a clean one, the context
# is what git tracks and .dockerignore lets through, RUN is run with this machine's
# tools in the stage's folder, COPY copies, and the rest is noted. What comes out must be
# what docs/operate.md says of the image: static, under 40 MB, of the version that was
# asked for, a numeric user, and a server that runs with a read-only root, without any
# capability, and answers its own health check.
#
# --no-build leaves out RUN and all that needs what it makes.
#
# As root on Linux the image's root is mounted for reading only and entered with chroot
# in a network of its own; elsewhere that part is said to be skipped.
set -eu
cd "$(dirname "$0")/.."
build=yes
[ "${1:-}" != --no-build ] || build=''
most=40000000 # bytes

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
context=$work/context
mkdir -p "$context" "$work/stage" "$work/note"

# The context. The last pattern that fits a path decides, as in .dockerignore.
git ls-files | awk '
	function pattern(p,   at, any) {
		any = sub(/^\*\*\//, "", p)
		gsub(/[.+()]/, "\\\\&", p)
		gsub(/\*/, "[^/]*", p)
		return "^" (any ? "(.*/)?" : "") p "(/.*)?$"
	}
	NR == FNR { if ($0 ~ /^[^#]/) { n++; keeps[n] = sub(/^!/, ""); rule[n] = pattern($0) } ; next }
	{ kept = 1; for (i = 1; i <= n; i++) if ($0 ~ rule[i]) kept = keeps[i]; if (kept) print }
' .dockerignore - >"$work/files"
grep -q . "$work/files" || fail ".dockerignore lets nothing through"
! grep -E '(^|/)\.git/|_test\.go$|\.(pem|key|token)$' "$work/files" || fail "what must not be in an image's context is in it"
tar -cf - -T "$work/files" | tar -xf - -C "$context"

# The instructions, one a line: comments go, continued lines are joined.
awk '/^[ \t]*#/ || /^[ \t]*$/ { next } { sub(/^[ \t]+/, "") } /\\$/ { sub(/\\$/, ""); whole = whole $0; next } { print whole $0; whole = "" }' Dockerfile >"$work/lines"

VERSION=replayed-$(date +%s)
stage='' dir=/ given=''
note() { printf '%s\n' "$2" >>"$work/note/$stage.$1"; }
expand() { # only what ARG and ENV have said
	(
		set -a
		[ ! -f "$work/note/$stage.env" ] || . "$work/note/$stage.env"
		eval "printf '%s' \"$(printf '%s' "$1" | sed 's/["`\\]/\\&/g; s/\$(/\\$(/g')\""
	)
}
# target FOLDER PATH is where a path of the stage lies.
target() {
	case $2 in
	/*) printf '%s%s' "$1" "$2" ;;
	*) printf '%s%s/%s' "$1" "$dir" "$2" ;;
	esac
}

from() {
	base=$1
	[ "${2:-}" = AS ] || fail "FROM $*: a stage without a name"
	stage=$3
	mkdir -p "$work/stage/$stage"
	dir=/
	if [ -d "$work/stage/$base" ]; then
		cp -a "$work/stage/$base/." "$work/stage/$stage/"
		for kept in "$work/note/$base".*; do
			[ ! -f "$kept" ] || cp "$kept" "$work/note/$stage.${kept##*.}"
		done
		dir=$(cat "$work/note/$stage.dir")
	elif [ "$base" != scratch ]; then
		case $base in */*.*/* | *:latest | *.*/*) fail "FROM $base: name an image and its version, no registry" ;; *:*) ;; *) fail "FROM $base has no version" ;; esac
	fi
	printf '%s\n' "$dir" >"$work/note/$stage.dir"
	[ -z "$given" ] || printf '%s\n' "$given" >>"$work/note/$stage.args"
}

copy() {
	source=$context owner=''
	while :; do
		case $1 in
		--from=*) source=$work/stage/${1#--from=}; [ -d "$source" ] || fail "COPY $*: there is no stage of that name" ;;
		--chown=*) owner=${1#--chown=} ;;
		*) break ;;
		esac
		shift
	done
	words=$#
	eval "last=\${$words}"
	to=$(target "$work/stage/$stage" "$last")
	while [ $# -gt 1 ]; do
		path=$source/${1#/}
		if [ ! -e "$path" ]; then
			# What the image that a stage begins with brings along is this machine's.
			[ "$source" != "$context" ] || fail "COPY $1: it is not in the context"
			case $1 in
			/src/*) [ -z "$build" ] || fail "COPY $1: no step made it" ;;
			*) [ -e "$1" ] || fail "COPY $1: neither a step nor this machine has it" ;;
			esac
			path=$1
		fi
		if [ -e "$path" ]; then
			if [ -d "$path" ]; then mkdir -p "$to"; cp -a "$path/." "$to/"; chmod "$(stat -c %a "$path")" "$to"
			elif [ $words -gt 2 ] || case $last in */) true ;; *) false ;; esac; then mkdir -p "$to"; cp -pL "$path" "$to/"
			else mkdir -p "$(dirname "$to")"; cp -pL "$path" "$to"; fi
			[ -z "$owner" ] || [ "$(id -u)" != 0 ] || chown -R "$owner" "$to"
		fi
		shift
	done
}

# set_variable NAME=VALUE, quoted for a shell
set_variable() { printf "%s='%s'\n" "${1%%=*}" "$(printf '%s' "${1#*=}" | sed "s/'/'\\\\''/g")" >>"$work/note/$stage.env"; }

argument() {
	name=${1%%=*} value=''
	case $1 in *=*) value=${1#*=} ;; esac
	[ "$name" != VERSION ] || value=$VERSION
	if [ -z "$stage" ]; then eval "$name=\$value"; else set_variable "$name=$value"; fi
}

step() {
	[ -n "$build" ] || return 0
	case " $1" in *[\ =]/*) fail "RUN $1: it names an absolute path, which would be this machine's" ;; esac
	say "  RUN $1"
	(
		set -a
		. "$work/note/$stage.env"
		cd "$work/stage/$stage$dir"
		sh -e -c "$1"
	) || fail "RUN $1"
}

while read -r what rest; do
	case $what in
	ARG) argument "$rest" ;;
	FROM) eval "set -- $rest"; from "$@" ;;
	WORKDIR) dir=$rest; mkdir -p "$work/stage/$stage$dir"; printf '%s\n' "$dir" >"$work/note/$stage.dir" ;;
	ENV) set_variable "${rest%%=*}=$(expand "${rest#*=}")"; note environment "${rest%%=*}=$(expand "${rest#*=}")" ;;
	COPY) eval "set -- $rest"; copy "$@" ;;
	RUN) step "$rest" ;;
	LABEL) note label "$(expand "$rest")" ;;
	USER) printf '%s\n' "$rest" >"$work/note/$stage.user" ;;
	HEALTHCHECK) printf '%s\n' "$rest" >"$work/note/$stage.health" ;;
	ENTRYPOINT) printf '%s\n' "$rest" >"$work/note/$stage.entry" ;;
	VOLUME) note volume "$rest" ;;
	EXPOSE | STOPSIGNAL) ;;
	*) fail "$what: this script does not know the instruction; teach it" ;;
	esac
done <"$work/lines"

[ "$stage" = server ] || fail "the default target is $stage, not the server"
words() { printf '%s' "$1" | tr -d '[]",'; } # of a list in JSON whose words have no spaces
for image in server client devoidc; do
	user=$(cat "$work/note/$image.user" 2>/dev/null) || fail "$image runs as root"
	case $user in 0* | *[!0-9:]*) fail "$image: USER $user is not a number above 0" ;; esac
	for label in source version title description; do
		grep -q "^org.opencontainers.image.$label=" "$work/note/$image.label" || fail "$image has no label $label"
	done
done
[ -s "$work/note/server.health" ] || fail "the server has no HEALTHCHECK"
[ -n "$build" ] || { say "the Dockerfile's lines hold; nothing was built"; exit 0; }

for image in server client devoidc; do
	program=$work/stage/$image/$image
	[ -x "$program" ] || fail "$image holds no program"
	LC_ALL=C ldd "$program" 2>&1 | grep -Eq 'not a dynamic executable|statically linked' || fail "$image is not static"
	bytes=$(find "$work/stage/$image" -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')
	[ "$bytes" -lt "$most" ] || fail "the image of $image has $bytes bytes; under $most is promised"
	say "$image: $bytes bytes, static"
	grep -q "^org.opencontainers.image.version=\"*$VERSION\"*\$" "$work/note/$image.label" || fail "$image is not labelled $VERSION"
done
for image in server client; do
	"$work/stage/$image/$image" version | grep -q "$VERSION" || fail "$image does not say its version $VERSION"
done
say "server and client say their version, $VERSION"

if [ "$(id -u)" != 0 ] || ! unshare -mn true 2>/dev/null || ! command -v ip >/dev/null 2>&1; then
	say "skipped: a read-only root and a network of its own need root, unshare and ip"
	exit 0
fi
user=$(cat "$work/note/server.user")
set -- $(words "$(cat "$work/note/server.entry")")
entry=$1
health=$(words "$(sed 's/.*CMD //' "$work/note/server.health")")
cat >"$work/inside" <<'SH'
set -eu
image=$1 user=$2 entry=$3 health=$4 notes=$5
setpriv=$(command -v setpriv)
chroot=$(command -v chroot)
ip link set lo up
mount --bind "$image" "$image"
mount -o remount,ro,bind "$image"
! touch "$image/written" 2>/dev/null || { echo "the root can be written to" >&2; exit 1; }
mount -t tmpfs -o "mode=0700,uid=${user%:*},gid=${user#*:}" data "$image/data"
inside() { # takes the shell's place
	exec env -i $(cat "$notes.environment") TEAMMEM_INSECURE_HTTP=true \
		"$setpriv" --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid "$chroot" --userspec="$user" "$image" "$@"
}
status=0
(inside $health) 2>"$notes.log" || status=$?
grep -q 'does not answer' "$notes.log" && [ "$status" = 1 ] || { echo "without a server the health check says $status:" >&2; cat "$notes.log" >&2; exit 1; }
inside "$entry" 2>"$notes.log" &
server=$!
tries=0
until (inside $health) >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then cat "$notes.log" >&2; exit 1; fi
	sleep 0.2
done
# What runs is who it should be, and can do nothing more.
status=/proc/$server/status
grep -Eq "^Uid:[[:space:]]+${user%:*}[[:space:]]+${user%:*}" "$status" || { echo "it does not run as $user" >&2; exit 1; }
grep -Eq '^CapEff:[[:space:]]+0+$' "$status" || { echo "it has capabilities" >&2; exit 1; }
kill -TERM "$server"
wait "$server" || { echo "it does not end well" >&2; cat "$notes.log" >&2; exit 1; }
SH
unshare -mn sh "$work/inside" "$work/stage/server" "$user" "$entry" "$health" "$work/note/server" || fail "the server does not run in its image"
say "the server runs as $user on a read-only root without capabilities, answers its health check, and ends well"
