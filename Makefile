# `make demo` and `make test` set everything up on a fresh clone; nothing else has to be typed first.
# `demo` needs no compiler; `test` also installs the tools and the reference programs of the tests.
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

.PHONY: demo test explore check browser format reference lectures clean

demo: .venv/core
	$(BIN)/chainrule demo

test: check browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

explore: .venv/dev
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=explore

check: .venv/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page of a comparison is tested in a browser, too: in Debian's, where it is or can be had; otherwise not.
browser:
	@command -v chromium >/dev/null || test "$$(id -u)" -ne 0 || ! command -v apt-get >/dev/null || { \
		echo "installing chromium for the tests (once)"; export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 120 apt-get update && timeout 600 apt-get install --yes --no-install-recommends chromium; } \
		>/dev/null 2>&1 || echo "chromium could not be installed; the tests that need it are skipped"; }

format: .venv/dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The page of all settings, from the source; a test says when it is stale.
reference: .venv/core
	$(BIN)/python docs/reference.py

lectures: .venv/core
	$(BIN)/python docs/lectures.py

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/core: pyproject.toml constraints.txt
	@test -x $(BIN)/pip || for python in python3.11 python3; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		&& echo "making .venv with $$python" && $$python -m venv .venv && break; \
	done; test -x $(BIN)/pip || { echo "Python 3.11 or newer, with venv, is needed." >&2; exit 1; }
	@echo "installing chainrule into .venv (once)"
	@$(INSTALL) .
	@touch $@

.venv/dev: .venv/core
	@echo "installing the tools of the tests into .venv (once)"
	@$(INSTALL) '.[dev]'
	@touch $@
