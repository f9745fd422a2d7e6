// A shop's life by openapi-fetch, typed by what openapi-typescript makes of the description.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [baseUrl, key] = process.argv.slice(2);
assert(baseUrl && key, "usage: openapi-fetch URL KEY");
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

// done returns the result of a call that must have succeeded.
function done<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  assert(answer.data !== undefined, `${answer.response.url}: ${answer.response.status} without a body`);
  return answer.data;
}

// refused checks that a call failed with a code of the description.
function refused(answer: { error?: components["schemas"]["Error"] | undefined; response: Response }, code: components["schemas"]["Error"]["code"]) {
  assert.equal(answer.error?.code, code);
  assert.equal(answer.error.status, answer.response.status);
}

const account = done(await api.GET("/account"));
assert.equal(account.plan, "business");

const dogs = done(await api.POST("/categories", { body: { name: "Dogs", description: "Loyal" } }));
const bare = done(
  await api.PATCH("/categories/{categoryId}", { params: { path: { categoryId: dogs.id } }, body: { description: null } }),
);
assert.deepEqual(bare, { id: dogs.id, name: "Dogs" });
done(await api.PUT("/categories/{categoryId}", { params: { path: { categoryId: dogs.id } }, body: { name: "Hounds" } }));
assert.equal(done(await api.GET("/categories/{categoryId}", { params: { path: { categoryId: dogs.id } } })).name, "Hounds");
assert(done(await api.GET("/categories", { params: { query: { name: "hound" } } })).length >= 1);

const once = { header: { "Idempotency-Key": crypto.randomUUID() } };
const rex = done(await api.POST("/pets", { params: once, body: { name: "Rex", categoryId: dogs.id } }));
const again = await api.POST("/pets", { params: once, body: { name: "Rex", categoryId: dogs.id } });
assert.equal(done(again).id, rex.id);
assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
refused(await api.POST("/pets", { params: once, body: { name: "Max", categoryId: dogs.id } }), "idempotency_key_reused");

const ids = [rex.id];
for (const name of ["Bello", "Laika", "Fido"]) {
  ids.push(done(await api.POST("/pets", { body: { name, categoryId: dogs.id, status: "pending" } })).id);
}
// Pages, by the cursor of the Link header.
const found: number[] = [];
for (let cursor: string | null | undefined; cursor !== null; ) {
  const page = await api.GET("/pets", { params: { query: { categoryId: dogs.id, limit: 3, ...(cursor ? { cursor } : {}) } } });
  found.push(...done(page).map((pet) => pet.id));
  const next = /<([^>]+)>; rel="next"/.exec(page.response.headers.get("Link") ?? "")?.[1];
  cursor = next === undefined ? null : new URL(next, baseUrl).searchParams.get("cursor");
}
assert.deepEqual(found, ids);
const two = done(await api.GET("/pets", { params: { query: { id: ids.slice(0, 2), status: ["available", "pending"] } } }));
assert.deepEqual(two.map((pet) => pet.name), ["Rex", "Bello"]);

const path = { petId: rex.id };
const old = await api.GET("/pets/{petId}", { params: { path } });
assert.deepEqual(done(old), rex);
assert.match(old.response.headers.get("Sunset") ?? "", /2030/);
const etag = old.response.headers.get("ETag") ?? "";
const renamed = done(await api.PATCH("/pets/{petId}", { params: { path, header: { "If-Match": etag } }, body: { name: "Max" } }));
assert.equal(renamed.name, "Max");
refused(await api.PUT("/pets/{petId}", { params: { path, header: { "If-Match": etag } }, body: renamed }), "precondition_failed");
assert.deepEqual(done(await api.PUT("/pets/{petId}", { params: { path }, body: renamed })), renamed);

assert.deepEqual(done(await api.PATCH("/inventory/{petId}", { params: { path }, body: { quantity: 3 } })), {
  petId: rex.id,
  quantity: 3,
  status: "available",
});
const order = done(await api.POST("/store/orders", { body: { petId: rex.id, quantity: 2, shipDate: "2027-03-01T09:30:00Z", complete: false } }));
assert.equal(order.shipDate, "2027-03-01T09:30:00Z");
refused(await api.POST("/store/orders", { body: { petId: rex.id, quantity: 2, complete: false } }), "insufficient_stock");
refused(await api.DELETE("/pets/{petId}", { params: { path } }), "pet_has_open_orders");
refused(await api.DELETE("/categories/{categoryId}", { params: { path: { categoryId: dogs.id } } }), "category_in_use");
assert(order.id !== undefined);
const orderPath = { orderId: order.id };
assert.equal(done(await api.GET("/store/orders/{orderId}", { params: { path: orderPath } })).quantity, 2);
const shipped = done(await api.PATCH("/store/orders/{orderId}", { params: { path: orderPath }, body: { complete: true } }));
assert.equal(shipped.complete, true);
refused(await api.DELETE("/store/orders/{orderId}", { params: { path: orderPath } }), "order_completed");
const open = done(await api.POST("/store/orders", { body: { petId: rex.id, quantity: 1, complete: false } }));
assert(open.id !== undefined);
assert.equal((await api.DELETE("/store/orders/{orderId}", { params: { path: { orderId: open.id } } })).response.status, 204);
refused(await api.GET("/store/orders/{orderId}", { params: { path: { orderId: open.id } } }), "order_not_found");
assert.equal(done(await api.GET("/store/orders", { params: { query: { petId: rex.id, complete: true } } })).length, 1);
assert.equal(done(await api.GET("/inventory/{petId}", { params: { path } })).quantity, 1);
assert(done(await api.GET("/inventory", { params: { query: { maxQuantity: 0, status: ["pending"] } } })).length >= 3);

assert(done(await api.GET("/events")).length > 0);
for (const petId of ids) {
  assert.equal((await api.DELETE("/pets/{petId}", { params: { path: { petId } } })).response.status, 204);
}
refused(await api.GET("/inventory/{petId}", { params: { path } }), "pet_not_found");
const last = await api.DELETE("/categories/{categoryId}", { params: { path: { categoryId: dogs.id } } });
assert.equal(last.response.status, 204);
assert(Number(last.response.headers.get("X-RateLimit-Remaining")) > 0);
console.log("a shop's life is over");
