// send repeats what is worth repeating: an answer with Retry-After, or none at all.
// Give every POST an Idempotency-Key, so that its repetition is safe.
export async function send(url, options = {}, attempts = 6, longest = 300) {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(url, options).catch((error) => error);
    const failed = answer instanceof Error;
    const after = failed ? null : answer.headers.get("Retry-After");
    if (!failed && after === null) return answer;

    const backoff = Math.min(60, 2 ** attempt) * (0.5 + Math.random() / 2);
    const wait = after === null ? backoff : Number(after);
    if (attempt === attempts || wait > longest) {
      if (failed) throw answer;
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

const headers = { Authorization: `Bearer ${process.env.PETSTORE_KEY}` };
const answer = await send(process.argv[2], { headers });
console.log(answer.status, await answer.text());
