# make demo   everything once, from nothing: servers, database, worker, two agents, rows
# make test   every test, on real servers on loopback
# make docs   the documentation site, into docs/_build/html
# make check  format, lint, types, import contracts

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check docs format requirements clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.local
	$(BIN)/agentic demo $(ARGS)

test: $(VENV)/.dev
	$(BIN)/pytest $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --nitpicky --fail-on-warning --keep-going --quiet \
		-b html -d docs/_build/doctrees docs docs/_build/html

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

requirements: $(VENV)/.dev
	$(BIN)/python tests/requirements_report.py $(ARGS)

clean:
	rm -rf $(VENV) .agentic build dist

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is too old: Python 3.11 or newer is needed (make PYTHON=python3.12 ...)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.local: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[local]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[local,dev]'
	@touch $@ $(VENV)/.local

$(VENV)/.docs: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[docs]'
	@touch $@
