# make run     a server and a client on this machine
# make test    every test, with what it needs
# make check   everything else that has to be green
# make bench   the figures
# The rest is below.

# The library of Go 1.26 has advisories that this server reaches; 1.27.3 has none.
export GOTOOLCHAIN ?= go1.27.3

TOOL      := go tool -modfile=tools/go.mod
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -X main.version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZTIME  ?= 20s
FUZZERS   ?= 2
BENCH     ?= .
BENCHPKG  ?= ./...
COUNT     ?= 1
SEEDS     ?= 20000

.PHONY: all run build test check format vet staticcheck architecture openapi modules cross deploy-check deadcode bench million crash patroni latency streams attack fuzz sim browser screenshots clean

all: build

build:
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# DIR=… syncs another directory; a second "make run" joins the running server.
# ARGS=… goes to client sync.
run: build
	@exec scripts/run.sh '$(DIR)' $(ARGS)

# ARGS=… goes to go test: make test ARGS='-run Push ./server/...'
test:
	@scripts/test.sh $(ARGS)

check: format vet staticcheck architecture openapi modules cross

format:
	@files=$$($(TOOL) gofumpt -l .) && if [ -n "$$files" ]; then \
		printf 'not formatted:\n%s\nrun: %s gofumpt -w .\n' "$$files" '$(TOOL)' >&2; exit 1; fi
	@! git grep -nE '^(<<<<<<<|>>>>>>>) ' -- ':!*/testdata/*' || { echo 'a merge was not finished' >&2; exit 1; }

vet:
	go vet ./...
	go vet -tags patroni ./deploy/patroni

staticcheck:
	$(TOOL) staticcheck ./...

architecture:
	go test -count=1 -run '^TestArchitecture' .

openapi:
	go test -count=1 -run '^TestOpenAPI' ./api

modules:
	go mod verify
	go mod tidy -diff
	cd tools && go mod verify && go mod tidy -diff
	cd tools/deploycheck && go mod verify && go mod tidy -diff && go vet ./...

# Both binaries, without C, for every system they are made for.
cross:
	@for platform in $(PLATFORMS); do \
		echo "build for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} \
			go build -ldflags '$(LDFLAGS) -s -w' -o "bin/$${platform%/*}-$${platform#*/}/" ./cmd/... || exit 1; \
	done

# What an operator is given, without a container engine: docker-compose.yml by Compose's
# reader, the manifests by Kubernetes' types, the units by systemd, and the Dockerfile's
# lines replayed, up to a server that runs in its image.
deploy-check:
	scripts/deploy.sh

deadcode:
	$(TOOL) deadcode -test ./...

# One package after the other: figures must not compete for the machine.
# BENCH, BENCHPKG, COUNT choose.
bench:
	go test -p 1 -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 2h $(BENCHPKG)

# Kill the server, its database and the client CYCLES times each, and the client at
# each of its calls; pull the plug IMAGES times; check CYCLES/10 histories on each store
# for linearizability.
CYCLES ?= 500
IMAGES ?= 200
crash:
	TEAMMEM_CRASH_CYCLES=$(CYCLES) TEAMMEM_CRASH_IMAGES=$(IMAGES) TEAMMEM_CRASH_EVERY=1 \
		go test -count=1 -v -timeout 8h ./crash

# Three machines under Patroni, whose primary is killed and cut off while two servers
# are written to. As root, on Linux; about two minutes. ARGS=… goes to the test.
patroni:
	@scripts/patroni.sh $(ARGS)

# From an edit to its being seen at a team-mate's, with git beside it, and with
# Syncthing where it is installed.
latency:
	go test -count=1 -run '^$$' -bench EditToVisible -benchtime 1x -timeout 1h ./bench

# An organization of 1,000,000 entries in 5,000 repos against an empty one. It is filled
# first: some five minutes on SQLite, and then on Postgres.
million:
	go test -count=1 -run '^$$' -bench Million -benchtime 1x -timeout 2h ./bench

# Ten thousand idle streams: what each costs, and how soon all are back after a restart.
streams:
	go test -count=1 -run '^$$' -bench IdleStreams -benchtime 1x -timeout 1h ./bench

# What honest clients feel while the server is attacked.
attack:
	go test -count=1 -run '^$$' -bench UnderAttack -benchtime 1x -timeout 1h ./bench

# Every fuzz target for FUZZTIME, with FUZZERS at it. What is found is kept under
# testdata. Making inputs small is kept short: by default it may take a minute for each
# that is new, and nothing else is tried meanwhile.
fuzz:
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			nice -n 10 go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x -parallel $(FUZZERS) $$pkg || exit 1; \
		done; \
	done

# SEEDS schedules of a whole team; a seed that fails is printed and tells the same
# story again.
sim:
	SIM_SEEDS=$(SEEDS) go test -count=1 -v -timeout 6h -run '^TestSimulation$$' ./sim

# The long form of the tests in a browser, and pages of 10,000 entries.
browser:
	TEAMMEM_BROWSER=all TEAMMEM_HUGE=1 go test -count=1 -v -timeout 30m ./server/dashboard

# Every page of the dashboard, in both schemes and three widths, as pictures in SHOTS.
SHOTS ?= bin/screenshots
screenshots:
	TEAMMEM_SCREENSHOTS='$(abspath $(SHOTS))' go test -count=1 -timeout 30m -run '^TestScreenshots$$' ./server/dashboard

clean:
	rm -rf bin
