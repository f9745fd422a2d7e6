import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const { PETSTORE_URL: url, PETSTORE_KEY: key } = process.env;
type Options = { method?: string; body?: object; headers?: Record<string, string>; patience?: number };

// The client under test. For so many milliseconds it repeats what got no answer, or an answer with Retry-After.
async function call(path: string, { method = "GET", body, headers, patience = 20_000 }: Options = {}): Promise<Response> {
  headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers };
  for (const end = Date.now() + patience; ; ) {
    const signal = AbortSignal.timeout(end - Date.now());
    const answer = await fetch(url + path, { method, body: body && JSON.stringify(body), headers, signal }).catch(() => null);
    const wait = answer ? 1000 * Number(answer.headers.get("Retry-After") ?? Infinity) : 100;
    if (Date.now() + wait < end) await new Promise((resolve) => setTimeout(resolve, wait));
    else if (answer) return answer;
    else throw new Error(`no answer to ${method} ${path}`);
  }
}
const reset = (catalogue: string) => call("/account/reset", { method: "POST", body: { catalogue } });
const simulate = (value: string) => ({ headers: { "Petstore-Simulate": value } });

// The handler under test. It keeps the ids of open orders, and ignores what else happens.
type Event = { type: string; data: { id: number } };
function handle({ type, data }: Event, open: Set<number>) {
  if (type === "order.created") open.add(data.id);
  else if (type === "order.completed" || type === "order.cancelled") open.delete(data.id);
}
beforeEach(() => reset("demo"));
test("repeats what fails for a while", async () => assert.ok((await call("/pets", simulate("code=service_unavailable; times=2; id=a"))).ok));
test("waits as it is told, and not when that is long", async () => {
  const began = Date.now();
  assert.equal((await call("/pets", simulate("code=rate_limit_exceeded; retry-after=2; times=1; id=b"))).status, 200);
  assert.ok(Date.now() - began >= 2000);
  assert.equal((await call("/pets", simulate("code=api_key_banned; retry-after=60"))).status, 429);
});
test("buys once though the answer is lost", async () => {
  const headers = { "Idempotency-Key": "order-1", "Petstore-Simulate": "connection=lose-answer; times=1; id=c" };
  const answer = await call("/store/orders", { method: "POST", body: { petId: 18 }, headers });
  assert.deepEqual([answer.status, answer.headers.get("Idempotency-Replayed")], [201, "true"]);
});
test("learns of a sunset", async () => assert.equal((await call("/pets/1", simulate("sunset=now"))).status, 410));
test("gives up on slow answers", () => assert.rejects(call("/pets", { ...simulate("latency=3s"), patience: 500 })));
test("ignores events that it does not know", async () => {
  const open = new Set<number>();
  await call("/store/orders", { method: "POST", body: { petId: 18 } });
  const events = (await (await call("/events")).json()) as Event[];
  for (const event of [...events, { type: "pet.groomed", data: { id: 18 } }]) handle(event, open);
  assert.deepEqual([...open], [16]);
});
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
