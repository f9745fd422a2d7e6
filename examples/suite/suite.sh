#!/bin/sh
# Tests of a client that is curl: it repeats what got no answer, or an answer with Retry-After, unless that is long.
set -eu

call() { # METHOD PATH [ARGUMENT OF CURL ...]
  method=$1 path=$2
  shift 2
  curl -sS --fail-with-body --retry 3 --retry-all-errors --retry-max-time 20 --max-time "${TIMEOUT:-20}" -X "$method" \
    -H "Authorization: Bearer $PETSTORE_KEY" -H "Content-Type: application/json" "$@" "$PETSTORE_URL$path" 2>/dev/null
}
reset() { call POST /account/reset -d "{\"catalogue\":\"$1\"}"; }
simulate() { printf 'Petstore-Simulate: %s' "$1"; }
handle() { # TYPE: the handler of events under test; it ignores what it does not know
  case $1 in
    order.created) open=$((open + 1)) ;;
    order.cancelled) open=$((open - 1)) ;;
  esac
}
want() { # NAME GOT PART
  case $2 in *"$3"*) echo "ok   $1" ;; *) echo "FAIL $1: got $2, want $3" && exit 1 ;; esac
}

reset demo
want "repeats what fails for a while" "$(call GET /pets -H "$(simulate 'code=service_unavailable; times=2; id=a')")" '"id":1,'

began=$(date +%s)
want "waits as it is told" "$(call GET /pets -H "$(simulate 'code=rate_limit_exceeded; retry-after=3; times=1; id=b')")" '"id":1,'
[ $(($(date +%s) - began)) -ge 2 ] || { echo "FAIL it did not wait" && exit 1; }

want "does not go on when banned" "$(call GET /pets -H "$(simulate 'code=api_key_banned; retry-after=60')" || true)" api_key_banned

order=$(call POST /store/orders -d '{"petId":18}' -H 'Idempotency-Key: order-1' -H "$(simulate 'connection=lose-answer; times=1; id=c')")
want "buys once though the answer is lost" "$order" '"id":16,'
want "and not twice" "$(call GET '/store/orders?sort=-id&limit=1')" '"id":16,'

open=0
for type in $(call GET /events | grep -o '"type":"[^"]*' | cut -d'"' -f4) pet.groomed; do handle "$type"; done
want "ignores events that it does not know" "$open" 1

want "learns of a sunset" "$(call GET /pets/1 --retry 0 -H "$(simulate 'sunset=now')" || true)" operation_sunset
want "gives up on slow answers" "$(TIMEOUT=1 call GET /pets --retry 0 -H "$(simulate 'latency=3s')" || echo gave up)" "gave up"

reset large
path='/pets?limit=100' count=0
while [ "$path" ]; do
  page=$(call GET "$path" -D head)
  count=$((count + $(printf %s "$page" | grep -o '"id":' | wc -l)))
  path=$(sed -n 's/^[Ll]ink: <\([^>]*\)>; rel="next".*/\1/p' head)
done
rm head
want "reads every page" "$count" 1000
