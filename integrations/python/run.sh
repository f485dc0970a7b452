#!/usr/bin/env bash
# Types and tests. Usage: run.sh PYTHON, with MNEME_URL and MNEME_API_KEY of a running Mneme.
set -euo pipefail
cd "$(dirname "$0")"
"$1" -m mypy
"$1" -m pytest -q
