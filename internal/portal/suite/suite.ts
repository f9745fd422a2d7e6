import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const { PETSTORE_URL: url, PETSTORE_KEY: key } = process.env;
type Options = { method?: string; body?: object; headers?: Record<string, string>; timeout?: number; attempts?: number };

// The client under test. It repeats what got no answer, or an answer with Retry-After.
async function call(path: string, { method = "GET", body, headers, timeout = 5000, attempts = 4 }: Options = {}): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await fetch(url + path, {
        method,
        body: body && JSON.stringify(body),
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
        signal: AbortSignal.timeout(timeout),
      });
      const wait = answer.headers.get("Retry-After");
      if (wait === null || attempt === attempts) return answer;
      await new Promise((resolve) => setTimeout(resolve, 1000 * Number(wait)));
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}
const reset = (catalogue: string) => call("/account/reset", { method: "POST", body: { catalogue } });
const simulate = (value: string) => ({ headers: { "Petstore-Simulate": value } });

beforeEach(() => reset("demo"));

test("repeats what fails for a while", async () => {
  const answer = await call("/pets", simulate("code=service_unavailable; times=2; id=a"));
  assert.equal(((await answer.json()) as object[]).length, 20);
});
test("waits as it is told, and not when that is long", async () => {
  const began = Date.now();
  assert.equal((await call("/pets", simulate("code=rate_limit_exceeded; retry-after=2; times=1; id=b"))).status, 200);
  assert.ok(Date.now() - began >= 2000);
  assert.equal((await call("/pets", { ...simulate("code=api_key_banned; retry-after=60"), attempts: 1 })).status, 429);
});
test("buys once though the answer is lost", async () => {
  const headers = { "Idempotency-Key": "order-1", "Petstore-Simulate": "connection=lose-answer; times=1; id=c" };
  const answer = await call("/store/orders", { method: "POST", body: { petId: 18 }, headers });
  assert.deepEqual([answer.status, answer.headers.get("Idempotency-Replayed")], [201, "true"]);
  assert.equal(((await answer.json()) as { id: number }).id, 16);
});
test("learns of a sunset", async () => assert.equal((await call("/pets/1", simulate("sunset=now"))).status, 410));
test("gives up on slow answers", () => assert.rejects(call("/pets", { ...simulate("latency=3s"), timeout: 500, attempts: 1 })));
test("reads every page", async () => {
  await reset("large");
  let [count, path]: [number, string | undefined] = [0, "/pets?limit=100"];
  while (path) {
    const answer: Response = await call(path);
    count += ((await answer.json()) as object[]).length;
    path = answer.headers.get("Link")?.match(/<(.*?)>/)?.[1];
  }
  assert.equal(count, 1000);
});
