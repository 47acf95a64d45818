# `make demo` and `make test` need Python 3.11 or newer, git and this file; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PINNED := --constraint constraints.txt --editable .
PIP := install --quiet --no-compile --disable-pip-version-check

.PHONY: demo test lint types check soak clients browser postgres replicas histories budgets bench recall schemas docs bundle workflows pictures lock clean matrix

# Installs what the program needs; developer tools come with `make test`.
demo:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; try: make PYTHON=python3.13") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/engram || { echo "Installing engram into $(VENV)/ (half a minute, with uv a third of it) ..." && \
	  $(PYTHON) -m venv --without-pip $(VENV) && \
	  if command -v uv > /dev/null; then uv pip install --quiet --python $(BIN)/python $(PINNED); \
	  elif $(PYTHON) -m pip --version > /dev/null 2>&1; then $(PYTHON) -m pip --python $(BIN)/python $(PIP) $(PINNED); \
	  else $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip $(PIP) $(PINNED); fi; }
	@$(BIN)/engram demo

test: lint types check

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP)
	$(BIN)/mypy

check: $(STAMP)
	$(BIN)/pytest -n auto --dist worksteal -m "not soak and not clients and not postgres and not browser"

# The suite with each newer Python that this machine has (pyenv's too), each in an environment of its own.
NEWER := 3.12 3.13 3.14
matrix:
	@for version in $(NEWER); do \
	  python=$$(ls -d $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python 2>/dev/null | tail -1); \
	  python=$${python:-python$$version}; \
	  if $$python -c '' 2>/dev/null; then $(MAKE) check PYTHON=$$python VENV=.venv-$$version || exit 1; \
	  else echo "Python $$version is not on this machine"; fi; done

soak: $(STAMP)
	$(BIN)/pytest -m soak
	$(BIN)/pytest -n auto --hypothesis-profile=soak -m "hypothesis and not soak"
	ENGRAM_REPLICA_EXAMPLES=20000 $(BIN)/pytest -n auto tests/sharing/sync/replica/test_convergence.py

# The agents' own programs, from npm; skipped with the reason where node or the registry is missing.
clients: $(STAMP)
	$(BIN)/pytest -m clients -rs

# The page in Debian's chromium, through chromedriver; skipped with the reason where one of them is missing.
browser: $(STAMP)
	$(BIN)/pytest -m browser -rs

# The team's server, on a PostgreSQL of the tests' own; skipped with the reason where its programs are missing.
postgres: $(STAMP)
	$(BIN)/pytest -m "postgres and not soak" -rs

# Machines that exchange what they did in every order, over a network that loses and repeats it; EXAMPLES histories.
EXAMPLES ?= 2000
replicas: $(STAMP)
	ENGRAM_REPLICA_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n auto tests/sharing/sync/replica/test_convergence.py

# Text folders against chunks and direct exchange, in real git: 2,000 take an hour.
histories: $(STAMP)
	ENGRAM_HISTORY_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n auto tests/sharing/sync/git/test_memory_histories.py

# The budgets that hold on any machine: tokens of schema, start and memory of `engram mcp`, a silent prompt hook, against
# baselines of the same run.
budgets: $(STAMP)
	$(BIN)/python -m bench --quick --only schema,start,memory,hooks --check

bench: $(STAMP)
	$(BIN)/python -m bench

recall: $(STAMP)
	$(BIN)/python -m bench.recall --check

# The tools as they are listed; after a change of a tool.
schemas: $(STAMP)
	$(BIN)/python -m engram_py.interfaces.mcp.profiles

# Also what agents and registries read to install this repository; after a change of version, hooks or pyproject.toml.
docs: $(STAMP)
	$(BIN)/cog -r docs/reference/*.md
	$(BIN)/python -m docs.manifests

# One file for hosts that install MCP bundles, in dist/.
bundle: $(STAMP)
	$(BIN)/python -m docs.manifests bundle

# The workflows of .github, by actionlint: from the PATH, or by Go.
workflows:
	@if command -v actionlint >/dev/null; then actionlint; else go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12; fi

# The pictures of the page in docs/pictures, in Debian's chromium; after a change of a page.
pictures: $(STAMP)
	$(BIN)/python -m docs.pictures

# Installs by pip's own dependency groups where it has them (25.1), so the environment's pip is brought up first.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; try: make PYTHON=python3.13") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	touch $(STAMP)

# Pins what is installed now, after an upgrade by hand.
lock:
	$(BIN)/python -m pip freeze --exclude-editable --exclude engram-py > constraints.txt

clean:
	rm -rf .venv .venv-* dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
