// A shop's life by what @hey-api/openapi-ts makes of the description.
import assert from "node:assert/strict";
import { createClient, createConfig } from "./generated/hey-api/client/index.js";
import * as petstore from "./generated/hey-api/index.js";

const [baseUrl, key] = process.argv.slice(2);
assert(baseUrl && key, "usage: hey-api URL KEY");
const client = createClient(createConfig({ baseUrl, auth: ({ scheme }) => (scheme === "bearer" ? key : undefined) }));

// done returns the result of a call that must have succeeded.
function done<T>(answer: { data: T | undefined; error: unknown; response?: Response | undefined }): T {
  assert(answer.response?.ok && answer.data !== undefined, JSON.stringify(answer.error));
  return answer.data;
}

function refused(answer: { error: petstore.Error | undefined; response?: Response | undefined }, code: petstore.Error["code"]) {
  assert.equal(answer.error?.code, code);
  assert.equal(answer.error.status, answer.response?.status);
}

assert.deepEqual(done(await petstore.getAccount({ client })).key.scopes, ["read", "write", "manage"]);
const cats = done(await petstore.createCategory({ client, body: { name: "Cats", description: "Proud" } }));
assert.equal(done(await petstore.updateCategory({ client, path: { categoryId: cats.id }, body: { description: null } })).description, undefined);
done(await petstore.replaceCategory({ client, path: { categoryId: cats.id }, body: { ...cats, name: "Felines" } }));
assert.equal(done(await petstore.getCategory({ client, path: { categoryId: cats.id } })).name, "Felines");
assert(done(await petstore.listCategories({ client, query: { limit: 100 } })).some((category) => category.id === cats.id));

const tom = done(
  await petstore.createPet({ client, body: { name: "Tom", categoryId: cats.id }, headers: { "Idempotency-Key": crypto.randomUUID() } }),
);
const path = { petId: tom.id };
const status: petstore.PetStatus[] = ["available", "sold"];
assert.deepEqual(done(await petstore.listPets({ client, query: { id: [tom.id], status } })), [tom]);
const old = await petstore.getPet({ client, path });
assert.deepEqual(done(old), tom);
assert.match(old.response?.headers.get("Link") ?? "", /rel="successor-version"/);
assert.equal(done(await petstore.updatePet({ client, path, body: { status: "pending" } })).status, "pending");
assert.equal(done(await petstore.updatePet({ client, path, body: { status: null } })).status, "available");
refused(await petstore.replacePet({ client, path, body: tom, headers: { "If-Match": '"stale"' } }), "precondition_failed");
assert.equal(done(await petstore.replacePet({ client, path, body: { name: "Jerry", categoryId: cats.id } })).name, "Jerry");

assert.equal(done(await petstore.updateInventory({ client, path, body: { quantity: 2 } })).quantity, 2);
const sold = done(await petstore.createOrder({ client, body: { petId: tom.id, complete: true } }));
assert.equal(sold.complete, true);
const order = done(await petstore.createOrder({ client, body: { petId: tom.id } }));
assert.equal((await petstore.createOrder({ client, body: { petId: tom.id } })).response?.status, 409);
assert(done(await petstore.listEvents({ client })).length > 0);
assert(order.id !== undefined && sold.id !== undefined);
assert.equal(done(await petstore.getOrder({ client, path: { orderId: order.id } })).quantity, 1);
const dated = done(await petstore.updateOrder({ client, path: { orderId: order.id }, body: { shipDate: "2027-01-01T00:00:00+01:00" } }));
assert.equal(dated.shipDate, "2026-12-31T23:00:00Z");
assert.equal((await petstore.cancelOrder({ client, path: { orderId: order.id } })).response?.status, 204);
refused(await petstore.cancelOrder({ client, path: { orderId: sold.id } }), "order_completed");
assert.equal(done(await petstore.listOrders({ client, query: { petId: tom.id } })).length, 1);
assert.equal(done(await petstore.getInventoryItem({ client, path })).status, "available");
assert(done(await petstore.listInventory({ client, query: { maxQuantity: 1 } })).some((item) => item.petId === tom.id));
assert.equal((await petstore.deletePet({ client, path })).response?.status, 204);
refused(await petstore.deletePet({ client, path }), "pet_not_found");
assert.equal((await petstore.deleteCategory({ client, path: { categoryId: cats.id } })).response?.status, 204);
console.log("a shop's life is over");
