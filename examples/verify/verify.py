import base64, hashlib, hmac, time


def verify(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Reports whether a request comes from the webhook with the secret.

    The names of headers are in lower case; body is what was received, before it is parsed."""
    try:
        sent, at = headers["webhook-id"], headers["webhook-timestamp"]
        signatures = headers["webhook-signature"].split(" ")
        if abs(time.time() - int(at)) > 300:
            return False
    except (KeyError, ValueError):
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{sent}.{at}.".encode() + body, hashlib.sha256).digest()
    want = "v1," + base64.b64encode(mac).decode()
    return any(hmac.compare_digest(want.encode(), one.encode()) for one in signatures)
