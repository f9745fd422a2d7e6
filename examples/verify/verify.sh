# verify SECRET ID TIMESTAMP SIGNATURES < BODY: succeeds if the request comes from the webhook.
verify() {
  local now key want one
  now=$(date +%s)
  [ $((now - $3)) -le 300 ] && [ $(($3 - now)) -le 300 ] || return 1
  key=$(printf %s "${1#whsec_}" | base64 -d | od -An -tx1 | tr -d ' \n')
  want=v1,$({ printf %s.%s. "$2" "$3"; cat; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  for one in $4; do
    [ "$one" = "$want" ] && return 0
  done
  return 1
}
