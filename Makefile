# One command per intention. Nothing but Python 3.11 or newer, git and make is needed; each target makes its own
# environment in .venv-<version> the first time. `.ci/run` calls the same targets.

PYTHON ?=
ARGS ?=

DEV = python=$$(scripts/environment dev $(PYTHON))

.DEFAULT_GOAL := help
.PHONY: help demo test check chaos bench docs clean

help: ## This list
	@echo "make TARGET [PYTHON=python3.12] [ARGS=…]"
	@echo
	@sed -n 's/^\([a-z]*\): ## \(.*\)/  \1 - \2/p' Makefile | awk -F ' - ' '{printf "%-8s %s\n", $$1, $$2}'

demo: ## Play a small plan with a scripted agent, page included: no key, no Docker. ARGS="--exit" ends by itself
	@python=$$(scripts/environment all $(PYTHON)) && exec "$${python%/*}/whilly" demo $(ARGS)

test: ## All tests; those for a browser or an agent CLI where there is one. ARGS go to pytest, e.g. ARGS="tests/core -x"
	@$(DEV) && scripts/test "$$python" $(ARGS)

check: ## Format, lint, types, layers and documentation: all that is not running code
	@$(DEV) && set -x && "$$python" -m ruff format --check && "$$python" -m ruff check && "$$python" -m mypy \
	  && "$${python%/*}/lint-imports" --no-cache && "$$python" docs/generate.py --check

chaos: ## Ten thousand tasks under fire, about 6 minutes; the figures go into docs/explanation/chaos.md
	@$(DEV) && WHILLY_CHAOS_SCALE=$${WHILLY_CHAOS_SCALE:-5} WHILLY_CHAOS_REPORT=docs/explanation/chaos.md \
	  "$$python" -m pytest -q -s -m chaos tests/chaos/test_protocol_under_fire.py $(ARGS)

bench: ## Measure speed against named contenders in the same run. ARGS="queue --quick" chooses
	@python=$$(scripts/environment bench $(PYTHON)) && exec "$$python" -m bench $(ARGS)

docs: ## Write the generated pages of docs/ anew
	@$(DEV) && "$$python" docs/generate.py

clean: ## Remove environments, caches and build results
	rm -rf .venv-*/ build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find whilly tests bench docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
