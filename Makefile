# A comment behind two hashes is what "make help" prints.

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
LINT := bin/golangci-lint-2.15.0
NFPM := bin/nfpm-2.43.0
GITLEAKS := bin/gitleaks-8.30.1
FUZZTIME ?= 30s
DURATION ?= 10m
SEED ?= 1

# The nested modules, each with dependencies that the service does not need. Two are not among them, since they are
# whole only when something is generated: bench/peers (see peers below), and test/clients/goclient (its test).
MODULES := $(filter-out bench/peers,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod)))

# Half an hour for each package, on a machine that does other things too.
TEST := go test -timeout=30m

# The race detector waits for a second at the end of each process.
GORACE ?= atexit_sleep_ms=0
export GORACE

# Packages whose own code runs in their tests, the longest first.
INSIDE := ./internal/store/postgres ./internal/store/sqlite ./internal/httpapi $$(go list ./... | grep -v /petstore/test)

# Packages that run the program. They are run each time: Go's cache of results does not see what a test builds. In some,
# tests wait for other processes more than they compute, so that more of them run at once than there are cores. The one on
# disk counts the memory of the program. In ./test/nodes, RACE is for the program too: what the others run at the same time
# in one process, tests inside of it do.
OUTSIDE := ./test/browser ./test ./test/security
WAITING := ./test/faults ./test/monitoring
ON_DISK := ./test/tenants
NODES := ./test/nodes

# What takes long and is about what seldom changes: the description and its releases, and the contents of a release.
SLOW := ./test/contract ./test/packaging

# each runs a command in every nested module.
each = @for dir in $(MODULES); do echo "$(1) in $$dir" && (cd $$dir && $(1)) || exit 1; done

.PHONY: help build test check lint drift peers secrets slow clients tools tools-clients fmt generate pictures axe \
	bench bench-short bench-scale bench-parts fuzz soak security release deb clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Static, as releases are, and without debugging tables, which would be a third of the binary. Profiles and panics name
# functions all the same.
build: ## the binary, as bin/petstore
	CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags="-s -w" -o bin/petstore ./cmd/petstore

# CI sets RACE to flags for the race detector.
test: tools ## the tests that every change must pass (four minutes)
	$(call each,go vet ./... && go test ./...)
	scripts/in-memory $(TEST) $(RACE) $(INSIDE)
	scripts/in-memory $(TEST) -count=1 -parallel=4 $(RACE) $(NODES)
	scripts/in-memory $(TEST) -count=1 $(OUTSIDE)
	scripts/in-memory $(TEST) -count=1 -parallel=6 $(WAITING)
	$(TEST) -count=1 $(ON_DISK)

check: lint drift peers secrets slow ## static checks, generated files, and slow tests that are not in "make test"

# For macOS too, on which the tests must build: what of them only Linux can run is in files of its own, or skipped.
lint: $(LINT) ## formatting and linters
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not in gofmt's form:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	$(LINT) run ./...
	$(call each,go vet ./... && $(CURDIR)/$(LINT) run ./...)

# What is generated must be what the sources say.
drift: ## compare what is generated with its sources
	go mod tidy -diff
	$(call each,go mod tidy -diff)
	scripts/check-generated

peers: ## generate and vet the servers that the benchmark measures beside ours
	cd bench/peers && go generate ./... && go mod tidy -diff && go vet ./...

# No key, password or token in any commit; a tree without history is scanned as it is.
secrets: $(GITLEAKS) ## search every commit for secrets
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(GITLEAKS) git --no-banner --no-color --redact -v .; else $(GITLEAKS) dir --no-banner --no-color --redact -v .; fi

slow: tools $(NFPM) axe
	$(TEST) -count=1 $(SLOW)

# Programs of others, of pinned versions, which only a new description can break.
clients: tools-clients ## what generators of clients and proxies of others make of the description (fifteen minutes)
	$(TEST) -count=1 ./test/clients

# What the tests use besides Go.
tools:
	scripts/install-test-tools
tools-clients:
	scripts/install-test-tools clients

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

generate: ## generate what is committed
	go generate ./...

pictures: tools ## the pictures in the README and docs, of the pages as they are now
	go test -count=1 ./test/browser -run Pictures -pictures $(CURDIR)/docs/images

axe: tools ## every page in four widths and both schemes, with axe-core
	$(TEST) -count=1 ./test/browser -run TestEveryPage -args -every-width

bench: ## measure the service beside what bounds it; writes bench/RESULTS.md (15 minutes)
	cd bench && go run .

bench-short: ## the same measurements in short, to try them; writes nothing
	cd bench && go run . -short

bench-scale: ## measure a million pets and three million orders on both engines (10 minutes)
	cd bench && go run . -part scale
	cd bench && go run . -part scale-postgresql

bench-parts: ## the Go benchmarks of the parts
	go test -run='^$$' -bench=. -benchmem ./internal/...

fuzz: ## every fuzz test for FUZZTIME (30s); keeps what they find
	scripts/fuzz $(FUZZTIME)

# Needs root, mkfs.ext4, mkfs.xfs, strace, PostgreSQL and Redis, and says what it skips.
soak: tools ## long campaigns of faults for DURATION (10m)
	go test -v -count=1 -timeout=0 ./test/faults -args -soak=$(DURATION) -seed=$(SEED)

security: ## the attacks of the tests, sqlmap on every parameter (Debian: sqlmap), and greedy workspaces at three sizes of memory
	go test -v -count=1 -timeout=0 ./test/security -args -injection
	go test -v -count=1 -timeout=0 ./test/tenants -args -matrix -hold=500ms

release: $(NFPM) ## a release below dist/; RELEASE=v1.2.3 names it
	NFPM=$(NFPM) deploy/release

deb: $(NFPM) ## only the Debian package of this machine's architecture
	NFPM=$(NFPM) deploy/release linux/$$(go env GOHOSTARCH)

clean: ## remove what was built
	rm -rf bin dist

$(LINT):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.install go install $(GOLANGCI_LINT)
	mv bin/.install/golangci-lint $@
	rmdir bin/.install

$(GITLEAKS):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.gitleaks go install github.com/zricethezav/gitleaks/v8@v8.30.1
	mv bin/.gitleaks/gitleaks $@
	rmdir bin/.gitleaks

$(NFPM):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.nfpm go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
	mv bin/.nfpm/nfpm $@
	rmdir bin/.nfpm
