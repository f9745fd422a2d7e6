import { createHmac, timingSafeEqual } from "node:crypto";

// verify reports whether a request comes from the webhook with the secret. body is what
// was received, byte by byte, before it is parsed.
export function verify(secret, headers, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (!id || !signatures || !(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const want = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest();
  return signatures.split(" ").some((one) => {
    const [version, text] = one.split(",");
    const got = Buffer.from(text ?? "", "base64");
    return version === "v1" && got.length === want.length && timingSafeEqual(got, want);
  });
}
