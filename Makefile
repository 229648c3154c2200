# `make demo`, `make test`, `make check`, `make test-lowest`, `make bench`: all that is needed is Python (3.11 or newer) and make.
#
# What they need is installed into virtual environments below this folder, with the versions of constraints.txt, and
# again only when pyproject.toml or constraints.txt has changed: the project itself is installed editable.

PYTHON ?= python3
OUT ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
# Tests run side by side, on no more cores than they can fill; `make test PYTEST_WORKERS=0` runs them one by one.
PYTEST_WORKERS ?= auto --maxprocesses=8

ENV := .venv
LOWEST_ENV := .venv-lowest
PEER_ENV := .venv-peer
RECIPE := pyproject.toml constraints.txt
PIP := -m pip install --quiet --disable-pip-version-check

# The pinned torch, and the lowest releases of the others that pyproject.toml admits.
TORCH := $(shell grep '^torch==' constraints.txt)
LOWEST := gymnasium==1.1.0 numpy==2.0.0 pydantic==2.10.0 pluggy==1.5.0 stable-baselines3==2.7.0

.DEFAULT_GOAL := help
.PHONY: help demo test check format test-lowest bench bench-peer clean python

help:
	@echo "make demo         train, evaluate and film a CartPole policy from the shipped demonstrations"
	@echo "make test         run the tests"
	@echo "make check        run ruff (lint and format) and mypy"
	@echo "make format       let ruff mend what it can"
	@echo "make test-lowest  run the tests with the lowest supported gymnasium, numpy, pydantic, pluggy and SB3"
	@echo "make bench        measure how fast it is (minutes; BENCH_ARGS='training --quick --write' and the like)"
	@echo "make bench-peer   make the environment of the reference library, which make bench then measures beside it"
	@echo "make clean        remove the environments and caches; runs are kept"
	@echo "Another Python:   make test PYTHON=python3.12"

demo: $(ENV)/.with-render
	$(ENV)/bin/mimetic demo $(if $(OUT),--out "$(OUT)")

test: $(ENV)/.with-dev
	$(ENV)/bin/python -m pytest -n $(PYTEST_WORKERS) $(PYTEST_ARGS)

check: $(ENV)/.with-dev
	$(ENV)/bin/ruff check .
	$(ENV)/bin/ruff format --check .
	$(ENV)/bin/mypy core plugins tests

format: $(ENV)/.with-dev
	$(ENV)/bin/ruff check --fix .
	$(ENV)/bin/ruff format .

test-lowest: $(LOWEST_ENV)/.with-dev
	$(LOWEST_ENV)/bin/python -m pytest -n $(PYTEST_WORKERS) $(PYTEST_ARGS)

bench: $(ENV)/.with-dev
	$(ENV)/bin/python tests/benchmarks/run.py $(BENCH_ARGS)

bench-peer: $(PEER_ENV)/.with-imitation

clean:
	rm -rf $(ENV) $(LOWEST_ENV) $(PEER_ENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# --- environments -------------------------------------------------------------------------------------------------

$(ENV)/.with-render: $(ENV)/.with-torch
	@echo "Installing mimetic with its window and films (quiet, takes a while) ..."
	$(ENV)/bin/python $(PIP) -c constraints.txt -e '.[render]'
	@touch $@

$(ENV)/.with-dev: $(ENV)/.with-torch
	@echo "Installing mimetic with what its tests need (quiet, takes a while) ..."
	$(ENV)/bin/python $(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

$(LOWEST_ENV)/.with-dev: $(LOWEST_ENV)/.with-torch
	@echo "Installing mimetic with the lowest releases that it supports (quiet, takes a while) ..."
	$(LOWEST_ENV)/bin/python $(PIP) $(TORCH) $(LOWEST) -e '.[dev]'
	@touch $@

# sacred, which it needs, imports pkg_resources; setuptools 81 no longer has it. It films with moviepy.
$(PEER_ENV)/.with-imitation: $(PEER_ENV)/.with-torch
	@echo "Installing the reference library (quiet, takes a while) ..."
	$(PEER_ENV)/bin/python $(PIP) 'setuptools<81' 'imitation==1.0.1' 'gymnasium[classic-control]' 'moviepy<2'
	@touch $@

# torch comes first and alone: it is most of the download, and the rest is then fitted to the pinned release.
%/.with-torch: $(RECIPE) | python
	@echo "Making $* and installing $(TORCH) (quiet, takes a while) ..."
	@rm -rf $*
	$(PYTHON) -m venv $*
	$*/bin/python $(PIP) $(TORCH)
	@touch $@

python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "$(PYTHON): not found. Install Python 3.11 or newer, or name one: make ... PYTHON=/path/to/python" >&2; \
		exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is $$($(PYTHON) -V 2>&1); mimetic needs 3.11 or newer. Name one: make ... PYTHON=python3.12" >&2; \
		exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) has no venv or ensurepip to make environments with (Debian, Ubuntu: apt install python3-venv)" >&2; \
		exit 2; }
