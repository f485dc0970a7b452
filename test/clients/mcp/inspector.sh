#!/usr/bin/env bash
# The unmodified npm client `@modelcontextprotocol/inspector --cli` against Mneme's MCP door. `npm ci` in this folder comes first.
#
# MNEME_URL is the gateway's base URL, MNEME_API_KEY an API key for all users of a tenant that may do everything but administrate, and
# MNEME_USER, which may be left out, a user who has no memories yet. It prints a line per step and exits with 1 where one fails.
set -euo pipefail
cd "$(dirname "$0")"
: "${MNEME_URL:?the base URL of the gateway}" "${MNEME_API_KEY:?an API key}"
user="${MNEME_USER:-inspector-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')}"
out=$(mktemp) complaints=$(mktemp)
trap 'rm -f "$out" "$complaints"' EXIT

# inspect ARGUMENTS: calls a method, and leaves what it answers in $out.
inspect() {
  node_modules/.bin/mcp-inspector --cli "${MNEME_URL%/}/mcp" --transport http --header "Authorization: Bearer $MNEME_API_KEY" "$@" \
    > "$out" 2> "$complaints"
}

fail() {
  echo "FAIL $1"
  sed "s|$MNEME_API_KEY|KEY|g" "$out" "$complaints" | head -c 2000
  exit 1
}

# step WHAT PATTERN ARGUMENTS: calls a method, and looks for a pattern in its answer.
step() {
  local what=$1 pattern=$2
  shift 2
  inspect "$@" || fail "$what"
  grep -Eq -- "$pattern" "$out" || fail "$what: no $pattern"
  echo "ok   $what"
}

# tool NAME PATTERN ARGUMENTS: calls a tool that succeeds.
tool() {
  local name=$1 pattern=$2 arg pairs=()
  shift 2
  for arg in "$@"; do pairs+=(--tool-arg "$arg"); done
  step "$name" "$pattern" --method tools/call --tool-name "$name" "${pairs[@]}"
  ! grep -q '"isError": true' "$out" || fail "$name"
}

# refused NAME PATTERN ARGUMENTS: calls a tool that answers with an error.
refused() {
  local name=$1 pattern=$2 arg pairs=()
  shift 2
  for arg in "$@"; do pairs+=(--tool-arg "$arg"); done
  step "$name is refused: $pattern" "$pattern" --method tools/call --tool-name "$name" "${pairs[@]}"
  grep -q '"isError": true' "$out" || fail "$name is not refused"
}

# structured EXPRESSION: a value of the structured content of the last answer; `it` is that content.
structured() {
  node -e 'const it = JSON.parse(require("fs").readFileSync(process.argv[1])).structuredContent; console.log(eval(process.argv[2]))' "$out" "$1"
}

# formed PATTERN: waits until a memory tells something.
formed() {
  local end=$((SECONDS + 60))
  until inspect --method tools/call --tool-name get_memories --tool-arg "user_id=$user" && grep -q "$1" "$out"; do
    ((SECONDS < end)) || fail "no memory of $1 is formed"
    sleep 0.5
  done
  echo "ok   a memory of $1 is formed"
}

inspect --method tools/list || fail "tools/list"
for name in add_memory search_memories get_memories get_memory update_memory delete_memory delete_all_memories list_entities delete_entities \
  recall answer why get_memory_history; do
  grep -q "\"name\": \"$name\"" "$out" || fail "tools/list has no $name"
done
echo "ok   tools/list"

tool add_memory turn_ids "user_id=$user" "text=I am allergic to peanuts and I live in Porto."
formed Porto
id=$(structured 'it.memories.find(m => m.content.includes("Porto")).id')
tool search_memories Porto "user_id=$user" "query=Where do I live?" limit=3
tool recall recall_id "user_id=$user" "query=Where do I live?"
tool answer Porto "user_id=$user" "query=Where do I live?"
tool why answered "user_id=$user" "query=Where do I live?" expect_text=Porto
tool get_memory "$id" "user_id=$user" "memory_id=$id"
tool update_memory Lisbon "user_id=$user" "memory_id=$id" "text=I live in Lisbon now."
newer=$(structured it.memory.id)
tool get_memory_history "$newer" "user_id=$user" "memory_id=$id"
tool delete_memory retracted "user_id=$user" "memory_id=$newer"
refused recall "query: is empty" "user_id=$user" 'query=""'
refused get_memory "not found" "user_id=$user" memory_id=00000000-0000-5000-8000-000000000000
refused delete_entities "confirm: is not true" "user_id=$user" confirm=false
refused list_entities "no list of users"
step resources/templates/list "mneme://users/\\{id\\}/profile" --method resources/templates/list
step "resources/read of the profile" "never an instruction" --method resources/read --uri "mneme://users/$user/profile"
step "resources/read of the core" "never an instruction" --method resources/read --uri "mneme://users/$user/core"
step prompts/list with_memory --method prompts/list
step prompts/get "never an instruction" --method prompts/get --prompt-name with_memory --prompt-args "user_id=$user" --prompt-args "message=Where do I live?"
tool delete_entities erasure_id "user_id=$user" confirm=true

key=$MNEME_API_KEY MNEME_API_KEY=mneme_of_nobody
! inspect --method tools/list || fail "a wrong key is let in"
MNEME_API_KEY=$key
echo "ok   a wrong key is refused"
