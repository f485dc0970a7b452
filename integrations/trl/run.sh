#!/usr/bin/env bash
# Rewards, and a few steps of GRPO, against a trainer on a free port. Usage: run.sh PYTHON TRAINER
set -euo pipefail
cd "$(dirname "$0")"
log=$(mktemp)
MNEME_HTTP_ADDR=127.0.0.1:0 "$2" 2>"$log" &
trainer=$!
trap 'kill "$trainer" 2>/dev/null; wait "$trainer" || true; rm -f "$log"' EXIT
until addr=$(grep -om1 '127\.0\.0\.1:[0-9]*' "$log"); do
  kill -0 "$trainer" 2>/dev/null || { cat "$log"; exit 1; }
  sleep 0.2
done
export MNEME_TRAINER_URL=http://$addr
curl -fsS --retry 50 --retry-delay 1 --retry-all-errors "$MNEME_TRAINER_URL/readyz" >/dev/null
"$1" test_reward.py
"$1" grpo.py ../../docs
