# Everything a newcomer or a CI job needs. Python 3.11+ and make are enough; uv is used where it is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
# Twice the cores: many tests wait for something.
WORKERS ?= $(shell echo $$(( 2 * $$(getconf _NPROCESSORS_ONLN) )))
# File by file, in the order of tests/plugins/order.py.
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# The same with fewer, where hardly anything waits.
AT_ONCE := -n $(shell echo $$(( 3 * $$(getconf _NPROCESSORS_ONLN) / 2 ))) --dist loadfile --no-loadscope-reorder
PYTEST_ARGS ?=
MUTANTS_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_STAMP := $(VENV)/.installed-to-run
DOCS_STAMP := $(VENV)/.installed-for-docs
DOCS_PORT ?= 8001

# Tests start hundreds of processes: without what Python keeps, each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: install
install: $(STAMP) ## create .venv and install holdfast with everything its tests need

# The stamp is written last, so an interrupted installation is done again.
INSTALLED_FROM := pyproject.toml $(wildcard apps/*/pyproject.toml) constraints.txt .ci/venv
$(STAMP): $(INSTALLED_FROM)
	@PYTHON="$(PYTHON)" .ci/venv $(VENV) dev
	@touch $(RUN_STAMP) $@

$(DOCS_STAMP): $(INSTALLED_FROM)
	@PYTHON="$(PYTHON)" .ci/venv $(VENV) docs
	@touch $@

$(RUN_STAMP): $(INSTALLED_FROM)
	@PYTHON="$(PYTHON)" .ci/venv $(VENV) run
	@touch $@

.PHONY: run
run: $(RUN_STAMP) ## API, console, worker and fault lab on SQLite, in one process
	@exec $(BIN)/holdfast dev

.PHONY: test
test: announced install ## lint, types, layers and every test that is not slow, on SQLite and PostgreSQL
	@$(MAKE) --no-print-directory --jobs --output-sync=target lint layers types compiled programs
	@$(BIN)/python -m pytest -m "not slow" $(SPREAD) $(PYTEST_ARGS)

.PHONY: check
check: export HOLDFAST_TEST_EXAMPLES ?= 10
check: install ## lint, layers, types and the tests that need no server
	@$(MAKE) --no-print-directory --jobs --output-sync=target lint layers types
	@$(BIN)/python -m pytest -q -m "not slow" --no-servers $(AT_ONCE) $(PYTEST_ARGS)

.PHONY: announced
announced:
	@.ci/announce

# pytest rewrites every test that it has not seen, and each of its workers would do that for itself.
.PHONY: compiled
compiled: install
	@found=$$($(BIN)/python -m pytest --collect-only -qq 2>&1) || { echo "$$found"; exit 1; }

# One after the other: the system's package manager serves one at a time.
.PHONY: programs
programs:
	@.ci/chromium
	@.ci/poppler
	@.ci/pgbouncer

.PHONY: test-slow
test-slow: export HOLDFAST_TEST_EXAMPLES ?= 100
test-slow: install ## the tests that take long, all examples of properties, and the coverage of the core
	@$(MAKE) --no-print-directory cover programs $(DOCS_STAMP)
	@$(BIN)/python -m pytest -m "slow or hypothesis" $(SPREAD) $(PYTEST_ARGS)

# Those that take the time would find out how long it takes to measure the coverage.
.PHONY: cover
cover: export HOLDFAST_TEST_EXAMPLES ?= 100
cover: install ## the tests of the pure core and of redaction reach every branch of them
	@$(BIN)/python -m pytest tests/core tests/redaction -q -n $(WORKERS) -k "not takes_no_longer and not takes_less and not takes_microseconds" --cov=holdfast.core --cov=holdfast.redaction --cov-branch --cov-fail-under=100

.PHONY: mutants
mutants: install ## plant faults in a copy of the code and see whether the tests notice them
	@$(BIN)/python -m mutants.run $(MUTANTS_ARGS)

.PHONY: lint
lint: install ## ruff: rules and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: format
format: install ## rewrite the code in the agreed format
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

.PHONY: types
types: install ## mypy, strict, on src and the apps; what users see of the types also by pyright
	@$(BIN)/mypy
	@$(BIN)/basedpyright

# Uncached: the cache of import-linter does not notice that an imported module has come to be.
.PHONY: layers
layers: install ## import-linter: low does not know high
	@$(BIN)/lint-imports --no-cache --no-logo

.PHONY: docs
docs: $(DOCS_STAMP) ## the documentation as a site with search, in build/docs
	@$(BIN)/python docs/site/build.py

.PHONY: docs-serve
docs-serve: docs ## show that site, on DOCS_PORT, 8001 by default
	@echo "holdfast: the documentation is at http://127.0.0.1:$(DOCS_PORT)/"
	@exec $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs $(DOCS_PORT)

.PHONY: bench
bench: install ## holdfast and its peers side by side on one PostgreSQL
	@$(BIN)/python -m bench.run

.PHONY: bench-scale
bench-scale: install ## claims in front of ten million finished jobs
	@$(BIN)/python -m bench.scale

.PHONY: constraints
constraints: ## take the newest versions and write them to constraints.txt
	@PYTHON="$(PYTHON)" .ci/constraints > constraints.new
	@mv constraints.new constraints.txt

.PHONY: clean
clean: ## remove .venv, caches and builds; databases stay
	@rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
