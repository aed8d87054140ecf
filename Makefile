# Ascend Migration Workbook. `make run` and `make test` are all a newcomer needs; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
NAME ?= demo
SCRIPT ?= notebooks/scripts/resnet_digits.py
DEVICE ?= auto
ARGS ?=
BIN := $(VENV)/bin

.PHONY: help setup setup-dev run test test-full test-versions test-browser mutants notebooks references lint lab docs bench bundle offline-bundle resolve clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:  ## make .venv: keeps an importable torch, installs the packages, builds the simulated NPU where there is no CANN (PAIR=2.12.0)
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) $(if $(PAIR),--pair $(PAIR)) $(if $(UNTRIED),--untried)

setup-dev:
	@$(PYTHON) tools/bootstrap.py --venv $(VENV) --dev

run: setup  ## run the notebooks headless up to the first Fix; print what to mend and the page (NAME=, SCRIPT=, ARGS=, DEVICE=)
	@$(BIN)/ascend-workbook run --name $(NAME) -p device $(DEVICE) -p script $(SCRIPT) $(if $(ARGS),-p script_args '$(ARGS)')

test: setup-dev  ## run every test: unit, operators, notebooks through papermill and nbval, lint, types
	@$(BIN)/python tests/run.py

test-full: setup-dev  ## run the tests and the longer suites
	@$(BIN)/python tests/run.py --full

test-versions:  ## try each pair of torch and torch_npu in an environment of its own, and print what ran (VERSIONS=2.12.0,2.7.1 STEPS=)
	@$(PYTHON) -m tools.versions $(if $(VERSIONS),--versions $(VERSIONS)) $(if $(STEPS),--steps $(STEPS))

test-browser: setup-dev  ## run every notebook, box and page in a headless Chromium, and print the folder of its pictures
	@$(BIN)/python tests/browser/install.py
	@$(BIN)/python tests/run.py --layer browser

mutants: setup-dev  ## plant small faults in what judges, and print how many a test sees (SEED=, COUNT=, PART=)
	@$(BIN)/python -m tools.mutation $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(if $(PART),--part $(PART))

lint: setup-dev  ## ruff, its formatter, the names and mypy
	@$(BIN)/python -m ruff check . && $(BIN)/python -m ruff format --check . && $(BIN)/python -m tools.names && $(BIN)/python -m mypy

notebooks: setup-dev  ## build notebooks/zh and notebooks/en from notebooks/source and run them
	@$(BIN)/python notebooks/build.py --execute

references: setup-dev  ## make the test references anew (look at the difference before you commit it)
	@$(BIN)/python tests/reference/make.py

lab: setup  ## open JupyterLab on the notebooks, with the kernel "Ascend NPU (simulated)" where there is no CANN
	@$(BIN)/python -m jupyterlab notebooks

docs: setup-dev  ## write docs/stages from rules, commands and docstrings
	@$(BIN)/python -m tools.docs

bench: setup-dev  ## print the benchmarks' ratios against their peers
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

bundle:  ## build the script and style of the page from tools/bundle (needs node; users do not)
	@cd tools/bundle && npm ci --ignore-scripts --no-audit --no-fund --silent && node build.mjs

offline-bundle: setup  ## write one archive to build/ that sets this up without a network (same Python and processor; FOR=3.11-aarch64: an image with torch)
	@$(BIN)/python -m tools.offline.bundle $(if $(FOR),--for $(FOR)) $(if $(INSTALLED),--installed $(INSTALLED))

resolve: setup  ## ask pip which wheels each Python would take on aarch64 and x86_64, and print a table
	@$(BIN)/python -m tools.resolve

clean:  ## remove .venv, runs and caches
	rm -rf $(VENV) runs build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
