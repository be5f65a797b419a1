# Everything a checkout needs: `make crawl URL=https://example.com` and `make test` set up by themselves what they use.

PYTHON ?=
VENV ?= .venv
JOBS ?= 3
ARGS ?=
URL ?=
OUT ?= out/$(shell printf '%s' '$(URL)' | sed -E 's,^[a-zA-Z]+://,,; s,^[^/@]*@,,; s,[/?#].*,,; s,:,-,')

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Tests start hundreds of interpreters: what one of them has compiled the others find.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin

# Debian package and a file that is there when it is installed: what tests and benchmarks use beside Python.
SYSTEM_PARTS := nginx:/usr/sbin/nginx wget:/usr/bin/wget wget2:/usr/bin/wget2 openssl:/usr/bin/openssl iproute2:/bin/ip \
  python3-doc:/usr/share/doc/python3/html/index.html postgresql-doc-15:/usr/share/doc/postgresql-doc-15/html/index.html \
  postgresql-15:/usr/lib/postgresql/15/bin/postgres

.PHONY: help
help: ## list these targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

.PHONY: setup
setup: $(VENV)/.installed-test ## make .venv with Nephila (editable) and what its tests need

.PHONY: crawl
crawl: $(VENV)/.installed ## crawl URL=https://… into OUT=out/HOST; ARGS="--max-pages 100" passes options
	@[ -n '$(URL)' ] || { echo 'Say where to start: make crawl URL=https://example.com' >&2; exit 2; }
	@mkdir -p '$(dir $(OUT))'
	@code=0; $(BIN)/nephila crawl '$(URL)' -o '$(OUT)' $(ARGS) || code=$$?; \
	echo; echo 'The crawl is in $(OUT); the command itself is $(BIN)/nephila (try: $(BIN)/nephila status $(OUT)).'; \
	[ $$code = 3 ] || exit $$code # a limit that was asked for is no failure of make

.PHONY: test
test: $(VENV)/.installed-test system-parts ## the quick tests, JOBS=3 at a time; ARGS go to pytest
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: conformance
conformance: $(VENV)/.installed-test ## the public test corpora, and a table of what passed (docs/conformance.md)
	@$(BIN)/python -m pytest -q tests/conformance $(ARGS)

.PHONY: test-long
test-long: SYSTEM_PARTS += chromium:/usr/bin/chromium debian-handbook:/usr/share/doc/debian-handbook/html/zh-CN/index.html mariadb-server:/usr/sbin/mariadbd
test-long: $(VENV)/.installed-test system-parts ## the long tests: kills, soaks, whole sites
	@$(BIN)/python -m pytest -q --long -m long $(ARGS)

.PHONY: lint
lint: $(VENV)/.installed-test ## format, style, types, and who may import whom
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_boundaries.py

.PHONY: format
format: $(VENV)/.installed-test ## write all code in the one format
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format .

.PHONY: bench
bench: SYSTEM_PARTS += httrack:/usr/bin/httrack
bench: $(VENV)/.installed-test system-parts ## both sites side by side with other tools; ARGS="--rounds 1 --save"
	@$(BIN)/python -m benchmarks.sites --site A $(ARGS)
	@$(BIN)/python -m benchmarks.sites --site B $(ARGS)

.PHONY: clean
clean: ## remove what these targets made, except crawls (out/)
	@rm -rf '$(VENV)' build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	@find . -name __pycache__ -type d -prune -not -path './out/*' -exec rm -rf {} +
	@find src -name 'lib*.so' -delete

.PHONY: system-parts
system-parts:
	@missing=(); for part in $(SYSTEM_PARTS); do [ -e "$${part#*:}" ] || missing+=("$${part%%:*}"); done; \
	[ $${#missing[@]} -gt 0 ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then \
	  echo "Installing for the tests: $${missing[*]}"; export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
	  apt-get update -qq >/dev/null || echo 'apt-get update failed; trying with the lists that are here' >&2; \
	  for name in "$${missing[@]}"; do \
	    apt-get install -y -qq --reinstall --no-install-recommends -o DPkg::Options::=--path-include='/usr/share/doc/*' "$$name" >/dev/null \
	    || echo "$$name cannot be installed: tests that need it are skipped" >&2; \
	  done; \
	else echo "Not installed: $${missing[*]}. Tests that need them are skipped (on Debian: apt-get install $${missing[*]})."; fi

# The stamps are older than a changed pyproject.toml, constraints.txt or C file, and then the step is done again.
$(VENV)/.installed: pyproject.toml constraints.txt hatch_build.py $(wildcard src/nephila/*/*.c src/nephila/*/*/*.c)
	@$(call make_venv)
	@echo 'Setting up $(VENV); this is done once and takes about a minute.'
	@$(call install,.)
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@$(call install,.[test])
	@touch $@

# The first Python that is new enough. A .venv whose Python is gone, or was made for another place, is made anew.
define make_venv
found=''; for try in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
  path=$$(command -v $$try) || continue; found="$$found $$path ($$($$path -V 2>&1))"; \
  $$path -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { python=$$path; break; }; done; \
if [ -z "$${python:-}" ]; then \
  echo "Nephila needs Python 3.11 or newer; found:$${found:- none}. Say which: make setup PYTHON=/path/to/python3.11" >&2; exit 2; fi; \
if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then rm -rf '$(VENV)'; \
  if command -v uv >/dev/null; then uv venv --quiet --python "$$python" '$(VENV)'; \
  else "$$python" -m venv '$(VENV)' || { echo "No venv: on Debian, apt-get install python3-venv" >&2; exit 2; }; fi; fi
endef

# uv where it is there, else pip; and pip again where uv knows no way to the packages but pip does.
define install
{ command -v uv >/dev/null && uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)'; } || \
{ [ -e $(BIN)/pip ] || $(BIN)/python -m ensurepip --upgrade >/dev/null; \
  $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -c constraints.txt -e '$(1)'; }
endef
