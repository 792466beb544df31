# Every verb does the set-up it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:

# The first Python that is new enough; `make PYTHON=/path/to/python3` chooses another.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
# Where the functions run; the wheels packed beside their code are for this and nothing else.
FUNCTION_PYTHON := 3.14
FUNCTION_PLATFORM := manylinux2014_aarch64
# AWS services the functions call: the models of all others are left out of the package.
FUNCTION_SERVICES := cloudwatch dynamodb ec2 events kms pricing rds sns sqs ssm

VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# The one that comes with Python 3.11 takes twice as long over the packages below; it will do.
PIP_NEEDED := pip>=26,<27
PYTEST_ARGS ?=
SWEEP_ONLY ?=
SEED ?=
MINUTES ?= 10
ORDER ?=
WORKERS ?= auto
# What `make test-fast` runs: what decides, and what reads policies and settings.
FAST := tests/domain tests/policy tests/docs $(wildcard tests/test_*.py)
TRACES ?=
CUSTODIAN ?=

# Quiet tools: no telemetry, no notices, no end-of-life banner of whichever Node is here,
# and the CDK command line's caches stay inside the project.
NODE_MAJOR := $(shell node -p 'process.versions.node.split(".")[0]' 2>/dev/null)
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := $(NODE_MAJOR)
export JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION := $(NODE_MAJOR)
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := $(NODE_MAJOR)
export CDK_HOME := $(CURDIR)/.cdk-home
export CDK_DISABLE_CLI_TELEMETRY := true
# Compiled modules are kept, or every process of the demo and the tests compiles them anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test test-fast fuzz check audit bench quality pictures synth wheel template release lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 11

setup: $(STAMPS)/python $(STAMPS)/node $(STAMPS)/wheels ## Install everything into .venv, node_modules and build
	@:

demo: setup ## Deploy to a local AWS and end every starvation story (STORY=2,10, SWEEP_ONLY=1, SEED=n)
	@$(BIN)/headroom demo $(if $(filter-out 0 false no,$(SWEEP_ONLY)),--sweep-only) $(if $(SEED),--seed $(SEED)) $(if $(STORY),--story '$(STORY)')

test: setup ## Run every test (PYTEST_ARGS='-k slots', ORDER=n for an order drawn from n, WORKERS=n)
	@HEADROOM_ORDER=$(ORDER) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses=4 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-fast: setup ## Run what needs no service: the inner loop, under a minute (PYTEST_ARGS='-k slots')
	@$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist worksteal -m "not java and not browser" $(FAST) $(PYTEST_ARGS)

fuzz: setup ## Explore at random for MINUTES=10 (SEED=n); counterexamples go to build/fuzz as tests
	@$(BIN)/python -m tests.fuzz "$(MINUTES)" "$(SEED)"

check: setup ## Lint, check formatting, types and import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=. $(BIN)/lint-imports --no-cache 2>&1 | tail -n +3

bench: setup ## Time deciding, simulating, comparing (TRACES=dir), synth, fleets (CUSTODIAN=command); writes docs/benchmarks.md
	@$(BIN)/python -m tools.bench $(if $(TRACES),--traces $(TRACES)) $(if $(CUSTODIAN),--custodian $(CUSTODIAN))

quality: setup ## Compare with others' rules on TRACES=dir at every preset; writes docs/decision-quality.md
	@$(BIN)/headroom compare --preset all $(if $(TRACES),--traces $(TRACES)) --html build/decision-quality.html \
		--markdown docs/decision-quality.md --figures docs/figures/decision-quality.json

pictures: setup ## Render docs/images from what `make demo` left in build/demo
	@$(BIN)/python -m tools.pictures

synth: setup ## Write the CloudFormation templates to cdk.out
	@PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin/cdk synth --quiet --no-notices

wheel: setup ## Build the wheel into build/release
	@$(BIN)/python -m tools.release wheel

template: setup ## Write the CloudFormation StackSets template to build/release
	@$(BIN)/python -m tools.release template

release: setup ## Build wheel, sdist, function zip, StackSets template and checksums into build/release
	@$(BIN)/python -m tools.release

lock: $(STAMPS)/python ## Write requirements-lock.txt from what is installed
	@{ sed -n '/^#/p' requirements-lock.txt; $(PIP) freeze --all --exclude headroom-storage --exclude pip --exclude-editable | sort -f; } > build/lock
	@mv build/lock requirements-lock.txt

clean: ## Remove what was built (not .venv and node_modules)
	@rm -rf build cdk.out .cdk-home .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -path ./node_modules -prune -o -name __pycache__ -type d -exec rm -rf {} +

audit: setup ## List the functions' packages in build/sbom.cdx.json and look up known vulnerabilities
	@[ -x build/audit/bin/pip-audit ] || { "$(PYTHON)" -m venv build/audit && build/audit/bin/python -m pip -q install pip-audit==2.10.1; } || true
	@$(BIN)/python -m tools.audit --pip-audit build/audit/bin/pip-audit

$(STAMPS)/python: requirements.txt requirements-dev.txt requirements-lock.txt pyproject.toml setup.py
	@[ -n "$(PYTHON)" ] || { echo "Headroom needs Python 3.11 or newer with venv (Debian: python3-venv); install it or run make PYTHON=/path/to/python3." >&2; exit 1; }
	@echo "Installing Python packages into $(VENV) ($(PYTHON))"
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11." >&2; exit 1; }
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv $(VENV)
	@$(PIP) install '$(PIP_NEEDED)' 2>/dev/null || true
	@$(PIP) install --no-compile -c requirements-lock.txt -r requirements.txt -r requirements-dev.txt
	@$(PIP) -q install -c requirements-lock.txt --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q headroom
	@mkdir -p $(@D) && touch $@

$(STAMPS)/node: package.json package-lock.json
	@command -v npm >/dev/null || { echo "Headroom needs Node 22 or newer with npm; install it from your system's packages." >&2; exit 1; }
	@echo "Installing the CDK command line into node_modules"
	@npm ci --silent --no-audit --no-fund
	@mkdir -p $(@D) && touch $@

$(STAMPS)/wheels: requirements-lambda.txt tools/pack_wheels.py tools/service_models.py headroom/adapters/actions.py Makefile $(STAMPS)/python
	@echo "Packing the functions' wheels into build/wheels"
	@$(BIN)/python -m tools.pack_wheels --requirements requirements-lambda.txt --python $(FUNCTION_PYTHON) \
		--platform $(FUNCTION_PLATFORM) --into build/wheels $(FUNCTION_SERVICES)
	@mkdir -p $(@D) && touch $@
