#!/bin/sh
# test.sh [ARGUMENTS OF go test]: runs the tests and prints of each package that
# passed its closing line and what it skipped, and of one that failed everything.
# With CI set a skipped test is a failure; only the corpus of real memory
# directories, which is no part of this project, may be absent.
set -u
cd "$(dirname "$0")/.." || exit 1

scripts/needs.sh || exit 1

# The race detector has nothing to find in SQLite, which is C in Go's clothes: its memory
# is not Go's, and slows down most there. Only that one package, which has no generics: a
# linker takes any one of several equal instantiations, and one of sync's that the
# detector does not see makes it report races that are none. make check vets.
race='-race -gcflags=modernc.org/sqlite/lib=-race=false'
if ! command -v "${CC:-gcc}" >/dev/null 2>&1 && [ -z "${CI:-}" ]; then
	echo "no C compiler: the tests run without the race detector" >&2
	race=''
fi
schedules=''
if [ $# -eq 0 ]; then
	set -- ./...
	schedules=$race # the race detector leaves time for few of them
fi

corpus=${TEAMMEM_CORPUS:-../shared/corpus}
status=$(mktemp)
trap 'rm -f "$status"' EXIT
# go test gives the output of one package after the other.
{
	# shellcheck disable=SC2086 # two words
	go test $race -vet=off -shuffle=on -timeout 15m -v "$@" 2>&1
	echo $? >"$status"
} | awk -v ci="${CI:-}" -v corpus="$([ -d "$corpus" ] && echo here)" '
	{ lines[++n] = $0 }
	/^ *--- SKIP: / {
		sub(/^ */, "")
		said[++skips] = "  " $0 ":" reason
		if (ci != "" && (corpus == "here" || reason !~ /corpus/)) forbidden++
	}
	/^ +[A-Za-z0-9_]+\.go:[0-9]+: / { reason = $0; sub(/^ +[^ ]+/, "", reason) }
	/^(ok|FAIL|\?)[ \t]+[^ \t]+[ \t]/ {
		if ($1 == "FAIL") { for (i = 1; i < n; i++) if (lines[i] !~ /^ *=== (RUN|PAUSE|CONT|NAME)/ && lines[i] !~ /^ *--- PASS/) print lines[i] }
		else for (i = 1; i <= skips; i++) print said[i]
		print
		fflush()
		n = skips = 0; reason = ""
		next
	}
	END {
		for (i = 1; i <= n; i++) if (lines[i] !~ /^(FAIL|PASS)$/) print lines[i]
		if (forbidden) { print "FAIL: CI is set, and " forbidden " tests were skipped"; exit 1 }
	}
'
skipped=$?
[ "$(cat "$status")" = 0 ] && [ "$skipped" = 0 ] || exit 1

# What is deployed, but for building the image: make deploy-check.
[ -z "$schedules" ] || scripts/deploy.sh --short || exit 1

# The simulation's 2,000 schedules and every rule in every wrapping, at full speed.
[ -z "$schedules" ] || go test -count=1 ./sim ./api/scan
