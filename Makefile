# make run TOPIC="…"   sets everything up and researches TOPIC over examples/corpus
# make test            sets everything up and passes the tests
# make check           formatting, lint, types, tests: what CI runs
# make docs            writes the outputs and the tables of docs/sql.md anew

PYTHON ?= python3
VENV   ?= .venv
CORPUS ?= examples/corpus
TOPIC  ?=
# As they were typed: make would expand a $ in them.
override export TOPIC := $(value TOPIC)
override export CORPUS := $(value CORPUS)

.PHONY: run test check lint types docs clean

run: $(VENV)/.installed
	@$(VENV)/bin/research-agent $${TOPIC:+--topic "$$TOPIC"} $${CORPUS:+--corpus "$$CORPUS"}

test: $(VENV)/.installed-dev
	$(VENV)/bin/pytest -n auto --dist worksteal

check: lint types test

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports

types: $(VENV)/.installed-dev
	$(VENV)/bin/mypy

docs: $(VENV)/.installed-dev
	$(VENV)/bin/python -m tests.support.sql_page

# Debian's python3 can come without ensurepip; virtualenv brings its own pip.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(PYTHON) -m pip install --quiet --user virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV); }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing into $(VENV) (once) …" >&2
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable . >&2
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	@echo "installing into $(VENV) (once) …" >&2
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' >&2
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
