# make test   everything a change must pass, as a user runs it
# make check  static checks, generated files, and the tests under the race detector, with the servers that they start
# make build  the binary, as bin/petstore
# make bench  the measurements; make fuzz: every fuzz test for FUZZTIME, which keeps what it finds
# make soak  faults for DURATION, every mutant; make security: sqlmap on every parameter and field, times of refusals, and the security tests
# make release  a release below dist/: archives, packages, bills of materials, checksums; RELEASE=v1.2.3 names it
# make deb  only the Debian package of this machine's architecture
# make pictures  the pictures in the README, below docs/images, of the pages as they are now
# make lint, drift, secrets, race, fmt, generate, bench-parts  the parts

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
LINT := bin/golangci-lint-2.15.0
NFPM := bin/nfpm-2.43.0
GITLEAKS := bin/gitleaks-8.30.1
FUZZTIME ?= 30s
DURATION ?= 10m
SEED ?= 1

# The nested modules, each with dependencies that the service does not need.
# test/clients/goclient is not among them: its test generates what it lacks, and vets it.
MODULES := $(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod))

# The tests of the interface again, on what several nodes share.
SHARED := ./internal/httpapi -args -store=postgres -limiter=redis

.PHONY: pictures soak security secrets build test check lint fmt generate drift race tools bench bench-check bench-parts fuzz release deb clean

# Without the tables of a debugger, which are a third of it; profiles and panics name functions all the same.
build:
	go build -trimpath -ldflags="-s -w" -o bin/petstore ./cmd/petstore

test: tools
	@for dir in $(MODULES); do echo "go vet ./... in $$dir" && (cd $$dir && go vet ./...) || exit 1; done
	go test ./...
	go test $(SHARED)

check: lint drift secrets race

# What the tests use besides Go.
tools: $(NFPM)
	scripts/install-test-tools

# For macOS too, on which the tests must build: what of them only Linux can run is in files of its own, or skipped.
lint: $(LINT)
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not in gofmt's form:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	$(LINT) run ./...

$(LINT):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.install go install $(GOLANGCI_LINT)
	mv bin/.install/golangci-lint $@
	rmdir bin/.install

# What is generated must be what the sources say.
drift:
	go mod tidy -diff
	@for dir in $(MODULES); do echo "go mod tidy -diff in $$dir" && (cd $$dir && go mod tidy -diff) || exit 1; done
	scripts/check-generated

# No key, password or token in any commit; a tree without history is scanned as it is.
secrets: $(GITLEAKS)
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(GITLEAKS) git --no-banner --no-color --redact -v .; else $(GITLEAKS) dir --no-banner --no-color --redact -v .; fi

$(GITLEAKS):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.gitleaks go install github.com/zricethezav/gitleaks/v8@v8.30.1
	mv bin/.gitleaks/gitleaks $@
	rmdir bin/.gitleaks

race: tools
	go test -race -timeout=20m -shuffle=on ./...
	go test -race -shuffle=on $(SHARED)

pictures: tools
	go test -count=1 ./test/browser -run Pictures -pictures $(CURDIR)/docs/images

fmt:
	gofmt -w $$(git ls-files '*.go')

generate:
	go generate ./...

# The service beside the floor and the disk; see bench/.
bench:
	go run ./bench

# Fails if the service has become slower, by ratios, than bench/results.json says.
bench-check:
	go run ./bench -check

# The parts alone, and the limiter beside libraries.
bench-parts:
	go test -run='^$$' -bench=. -benchmem ./internal/...
	@for dir in $(MODULES); do (cd $$dir && go test -run='^$$' -bench=. -benchmem ./...) || exit 1; done

fuzz:
	scripts/fuzz $(FUZZTIME)

release: $(NFPM)
	NFPM=$(NFPM) deploy/release

deb: $(NFPM)
	NFPM=$(NFPM) deploy/release linux/$$(go env GOHOSTARCH)

$(NFPM):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin/.nfpm go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
	mv bin/.nfpm/nfpm $@
	rmdir bin/.nfpm

# Each campaign of faults for a share of DURATION, besides the short ones, and every mutant; needs root,
# mkfs.ext4, mkfs.xfs, strace, PostgreSQL and Redis, and says what it skips.
soak: tools
	go test -v -count=1 -timeout=0 ./test/faults -args -soak=$(DURATION) -seed=$(SEED) -mutants

# The attacks that are in every run of the tests, and sqlmap on every parameter; needs sqlmap (Debian: sqlmap).
security:
	go test -v -count=1 -timeout=0 ./test/security -args -injection -timing

clean:
	rm -rf bin dist
