# curl waits as long as Retry-After says; without it, 1, 2, 4, … seconds.
# It gives up after six attempts, or when ten minutes would not be enough.
curl --silent --show-error --fail-with-body \
  --retry 5 --retry-connrefused --retry-max-time 600 \
  -H "Authorization: Bearer $PETSTORE_KEY" \
  "$1"
