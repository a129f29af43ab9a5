# Needs Python 3.11 or newer, make and a package index; everything else goes into .venv.
# Another interpreter: make PYTHON=python3.13 test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2

# Where it is set, each of the many processes that tests start would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

RECORDED := tests/recorded/merchant_day

.DEFAULT_GOAL := help
.PHONY: help install demo test lint docs pages dist format pyright bench clean

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  \1\t/' | expand -t 12

install: $(READY) ## Make .venv with engiagent and the tools to work on it

# uv takes a third of the time of pip, which knows mirrors and certificates that uv does not; for
# --group pip has to be 25.1 or newer.
PACKAGES := --editable '.[solvers,fast,grid,market,asset,scale,energyplus,llm,mcp,excel]' --group dev
$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no '$(PYTHON)'. Install Python 3.11 or newer, or say make PYTHON=/path/to/python3." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "engiagent needs Python 3.11 or newer; $$($(PYTHON) --version) is too old. Try make PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv." >&2; exit 1; }
	@echo "Installing into $(VENV); this takes a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1' uv
	@$(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode $(PACKAGES) || { \
	  echo "uv could not install; pip does it, which takes longer." >&2; \
	  $(BIN)/python -m pip install -qq $(PACKAGES); }
	@touch $@

demo: $(READY) ## Run a plant block, prose as a language model read it, and that prose with another number
	@rm -rf runs/demo && mkdir -p runs/demo
	@echo "== a plant block: engiagent new battery, then run"
	@$(BIN)/engiagent new battery runs/demo/depot --quiet
	@$(BIN)/engiagent run runs/demo/depot --out runs/demo/depot_run
	@echo "== prose, from the recorded exchange with a language model; two readings have to meet"
	@cp -r $(RECORDED)/problem runs/demo/prose
	@$(BIN)/engiagent run runs/demo/prose --replay $(RECORDED) --memory none --out runs/demo/prose_run
	@echo "== its reading is accepted, and the same text with a larger battery is read again by rule"
	@$(BIN)/engiagent accept runs/demo/prose_run
	@cp -r runs/demo/prose runs/demo/larger
	@sed -i.before 's/stores 20 MWh/stores 25,000 kWh/' runs/demo/larger/problem.md
	@$(BIN)/engiagent run runs/demo/larger --out runs/demo/larger_run
	@for out in runs/demo/*_run; do \
	  grep -q '"verdict": "certified"' $$out/certificate.json || { echo "$$out: not certified" >&2; exit 1; }; \
	done
	@echo "All certified. Open in a browser:"
	@for out in runs/demo/*_run; do echo "  $(CURDIR)/$$out/report.html"; done

test: $(READY) ## Run every test, then the checks of lint
	$(BIN)/python -m pytest -q -n $(JOBS)
	@$(MAKE) --no-print-directory lint

lint: $(READY) ## Lint, format check, types (mypy strict), import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers $(JOBS)
	$(BIN)/lint-imports

docs: $(READY) ## Build the pages into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open in a browser: $(CURDIR)/docs/_build/html/index.html"

pages: $(READY) ## Write the pages that are made from the code again
	$(BIN)/python docs/_ext/reference.py > docs/reference.md
	$(BIN)/python docs/_ext/components.py > docs/components.md
	$(BIN)/python -m engiagent.cli.page > docs/command-line.md
	$(BIN)/python -m engiagent.tools.schemas.page > docs/json-schemas.md
	$(BIN)/python docs/_ext/physics.py > docs/physics.md
	$(BIN)/python docs/_ext/certificate.py > docs/certificate.md
	$(BIN)/python docs/_ext/drawing.py > docs/packages.svg

dist: $(READY) ## Build sdist and wheel into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pyright: $(READY) ## A second opinion on types; its wheel downloads Node, so it is no part of lint
	$(BIN)/pyright

bench: $(READY) ## Run every benchmark and print one table of ratios against their targets
	$(BIN)/python -m pip install -qq --editable '.[solvers,fast,bench]'
	$(BIN)/python benchmarks/run_all.py

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist runs docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
