# curl waits as long as Retry-After says; without it, 1, 2, 4, … seconds.
# It gives up after six repetitions, or when ten minutes would not be enough.
curl --silent --show-error --fail-with-body \
  --retry 6 --retry-max-time 600 \
  -H "Authorization: Bearer $PETSTORE_KEY" \
  "$1"
