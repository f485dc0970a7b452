#!/usr/bin/env bash
# schemathesis against the API's OpenAPI description: no answer of 5xx, none that the description lacks, nothing wrong that is taken.
# Streams are left out, which do not end. Usage: run.sh FOLDER-OF-SCHEMATHESIS, with MNEME_URL, the gateway's base URL, and MNEME_API_KEY, an
# API key that may do everything.
set -euo pipefail
cd "$(dirname "$0")"
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance
exec "$1/schemathesis" run "${MNEME_URL%/}/openapi.json" --header "Authorization: Bearer $MNEME_API_KEY" \
  --generation-deterministic --exclude-path-regex '/events$' --max-examples "${EXAMPLES:-15}" --phases examples,coverage,fuzzing --checks "$checks,negative_data_rejection"
