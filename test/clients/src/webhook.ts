// Has a webhook post to this program, and verifies what comes with the library of Standard Webhooks.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const [baseUrl, key] = process.argv.slice(2);
assert(baseUrl && key, "usage: webhook URL KEY");

type Delivery = { headers: Record<string, string>; body: string };

const receiver = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  response.writeHead(204).end();
  receiver.emit("delivery", { headers: request.headers, body });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");

async function post<T>(path: string, body?: object): Promise<T> {
  const answer = await fetch(baseUrl + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert(answer.ok, `POST ${path} = ${answer.status} ${await answer.clone().text()}`);
  return (await answer.json()) as T;
}

// delivery returns what comes of a request.
async function delivery(path: string, body?: object): Promise<Delivery> {
  const came = once(receiver, "delivery");
  await post(path, body);
  return (await came)[0] as Delivery;
}

// The published vector.
const published = new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
assert.equal(
  published.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", new Date(1614265330_000), '{"test": 2432232314}'),
  "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
);

const { port } = receiver.address() as AddressInfo;
const hook = await post<{ id: string; secret: string }>("/webhooks", { url: `http://127.0.0.1:${port}/` });
const webhook = new Webhook(hook.secret);
const first = await delivery("/categories", { name: "Zoë & <Max> 🐕" });
const event = webhook.verify(first.body, first.headers) as { type: string; data: { name: string } };
assert.equal(event.type, "category.created");
assert.equal(event.data.name, "Zoë & <Max> 🐕");

// Whatever is changed, it is refused.
assert.throws(() => webhook.verify(first.body + " ", first.headers), WebhookVerificationError);
assert.throws(() => webhook.verify(first.body.replace("created", "deleted"), first.headers), WebhookVerificationError);
assert.throws(() => webhook.verify(first.body, { ...first.headers, "webhook-id": "evt_1_99" }), WebhookVerificationError);
assert.throws(() => published.verify(first.body, first.headers), WebhookVerificationError);
const id = first.headers["webhook-id"]!;
const old = new Date(Date.now() - 6 * 60_000);
const timestamp = String(Math.floor(old.getTime() / 1000));
assert.throws(() => webhook.verify(first.body, { ...first.headers, "webhook-timestamp": timestamp }), WebhookVerificationError);
const signed = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": webhook.sign(id, old, first.body) };
assert.throws(() => webhook.verify(first.body, signed), WebhookVerificationError);

// After a rotation both secrets verify.
const rotated = await post<{ secret: string }>(`/webhooks/${hook.id}/rotate`);
assert.notEqual(rotated.secret, hook.secret);
const second = await delivery(`/webhooks/${hook.id}/test`);
for (const secret of [hook.secret, rotated.secret]) {
  assert.equal((new Webhook(secret).verify(second.body, second.headers) as { type: string }).type, "webhook.test");
}
receiver.close();
console.log("all worked");
