# Every target says in one line what it does; `make` alone lists them.

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup check test run fix bench compare storm _static _types _newest _lock

VENV := .venv
BIN := $(VENV)/bin
NEWEST := .venv-newest
# What Noria is compared with asks for versions that conflict: an environment for each file.
COMPARED := .venv-compare
PEERS := $(patsubst requirements/compare/%.txt,$(COMPARED)/%/.installed,$(wildcard requirements/compare/*.txt))
# Tests that wait on processes gain little from more workers than this, and lose their timing.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n > 4 ? 4 : n)))
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# pyright would otherwise ask the network whether there is a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help: ## list the targets
	@echo "Noria: make TARGET"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

setup: $(VENV)/.installed ## create .venv with everything pinned, or update it if a requirement file changed
	@echo "make: $(VENV) is ready"

$(VENV)/.installed: pyproject.toml requirements/runtime.txt requirements/dev.txt
	@python=$$(tools/find-python any) || { \
		echo "make: no Python 3.11 or newer that can make a virtual environment (venv and ensurepip)" >&2; \
		echo "make: install one, for example: apt-get install python3 python3-venv" >&2; exit 1; }; \
	tools/make-venv $(VENV) "$$python" requirements/runtime.txt requirements/dev.txt
	@touch $@

check: setup _static ## lint, types, floors, unit tests, the front door, the SQLite contract: under 90 seconds
	@echo "make: unit tests, the front door, the SQLite contract"
	@$(PYTEST) -q --contract-of sqlite tests/unit tests/front tests/contract

test: setup _static _types _newest ## everything: check, the users' types, the newest Python, the whole suite; its seed is fixed
	@echo "make: the whole suite"
	@$(PYTEST) tests

run: setup ## start the quick-start example on the embedded backend, and stay up
	@exec $(BIN)/noria up examples/quickstart/app.py

fix: setup ## repair what ruff can repair, and format
	@$(BIN)/ruff check --fix . || true
	@$(BIN)/ruff format .

bench: setup $(VENV)/.installed-bench ## run the benchmarks; BENCH="..." gives them arguments
	@$(BIN)/python -m bench $(BENCH)

$(VENV)/.installed-bench: requirements/bench.txt $(VENV)/.installed
	@tools/make-venv $(VENV) $(BIN)/python requirements/bench.txt
	@touch $@

compare: setup $(VENV)/.installed-bench $(PEERS) ## measure Noria beside other systems; COMPARE="..." gives arguments
	@$(BIN)/python -m bench.compare $(COMPARE)

$(COMPARED)/%/.installed: requirements/compare/%.txt
	@mkdir -p $(COMPARED)
	@tools/make-venv --alone $(@D) $(BIN)/python $<
	@touch $@

storm: setup ## the random long runs, with long parameters; their seed is random and printed, SEED=N repeats one
	@NORIA_STORM=1 $(PYTEST) -m storm --timeout=3600 $(if $(SEED),--seed=$(SEED)) tests

# ---- helpers that the targets above share

_static:
	@echo "make: ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "make: not formatted; make fix" >&2; exit 1; }
	@echo "make: mypy"
	@$(BIN)/mypy
	@echo "make: import-linter"
	@out=$$($(BIN)/lint-imports --no-cache 2>&1) || { echo "$$out" >&2; exit 1; }

_types:
	@echo "make: pyright, over tests/types as a user's editor would"
	@$(BIN)/pyright --warnings --pythonpath $(BIN)/python

# The suite runs on 3.11; the newest Python that this machine has gets the unit tests.
_newest:
	@if python=$$(tools/find-python newer-than $(BIN)/python); then \
		stamp=$(NEWEST)/.installed; \
		if [ ! "$$stamp" -nt requirements/test.txt ] || [ ! "$$stamp" -nt pyproject.toml ] \
			|| [ "$$(cat $$stamp)" != "$$python" ]; then \
			rm -rf $(NEWEST) && \
			tools/make-venv $(NEWEST) "$$python" requirements/runtime.txt requirements/test.txt && \
			echo "$$python" > $$stamp || exit 1; \
		fi; \
		echo "make: unit tests on $$($(NEWEST)/bin/python -V)"; \
		$(NEWEST)/bin/python -m pytest -q -n $(JOBS) --dist loadgroup tests/unit; \
	else \
		echo "make: no Python newer than $$($(BIN)/python -V) here: the quick run on the newest one is left out"; \
	fi

# Needs uv; see tools/lock. ARGS="--upgrade" takes the newest of everything.
_lock:
	@tools/lock $(ARGS)
