// Uses what openapi-generator makes of the description for typescript-fetch.
import assert from "node:assert/strict";
import * as petstore from "./petstore";

const [basePath, accessToken] = process.argv.slice(2);
assert(basePath && accessToken, "usage: shop URL KEY");
const configuration = new petstore.Configuration({ basePath, accessToken, fetchApi: fetch });
const animals = new petstore.AnimalsApi(configuration);
const categories = new petstore.CategoriesApi(configuration);
const orders = new petstore.OrdersApi(configuration);
const inventory = new petstore.InventoryApi(configuration);

// refused checks that a call fails with a code of the description.
async function refused(call: Promise<unknown>, code: string) {
  const answer = await call.then(() => assert.fail(`it succeeded, want ${code}`), (answer: Response) => answer);
  const error: petstore.ModelError = petstore.ModelErrorFromJSON(await answer.json());
  assert.deepEqual([error.code, error.status], [code, answer.status]);
}

async function life() {
  assert.equal((await new petstore.AccountApi(configuration).getAccount()).plan, "business");

  const dogs = await categories.createCategory({ newCategory: { name: "Dogs", description: "Loyal" } });
  const categoryId = dogs.id;
  const read = await categories.getCategoryRaw({ categoryId });
  assert.deepEqual(await read.value(), dogs);
  const ifMatch = read.raw.headers.get("ETag") ?? "";
  const bare = await categories.updateCategory({ categoryId, ifMatch, categoryPatch: { description: null } });
  assert.equal(bare.description, undefined);
  await refused(
    categories.updateCategory({ categoryId, ifMatch, categoryPatch: { name: "Hounds" } }),
    "precondition_failed",
  );

  const ids: number[] = [];
  for (const name of ["Rex", "Bello", "Laika", "Fido"]) {
    ids.push((await animals.createPet({ newPet: { name, categoryId }, idempotencyKey: crypto.randomUUID() })).id);
  }
  const [petId = 0] = ids;
  const found: number[] = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const page = await animals.listPetsRaw({ categoryId, limit: 3, ...(cursor ? { cursor } : {}) });
    found.push(...(await page.value()).map((pet) => pet.id));
    const next = /<([^>]+)>; rel="next"/.exec(page.raw.headers.get("Link") ?? "")?.[1];
    more = next !== undefined;
    cursor = next && (new URL(next, basePath).searchParams.get("cursor") ?? undefined);
  }
  assert.deepEqual(found, ids);
  const status = [petstore.PetStatus.Available, petstore.PetStatus.Sold];
  assert.deepEqual((await animals.listPets({ id: ids.slice(0, 2), status })).map((pet) => pet.name), ["Rex", "Bello"]);

  assert.equal((await inventory.updateInventory({ petId, inventoryUpdate: { quantity: 3 } })).quantity, 3);
  const shipDate = new Date("2027-03-01T09:30:00Z");
  const order = await orders.createOrder({ newOrder: { petId, quantity: 2, shipDate } });
  assert.deepEqual(await orders.listOrders({ petId, shipDateFrom: shipDate }), [order]);
  await refused(orders.createOrder({ newOrder: { petId, quantity: 2 } }), "insufficient_stock");
  await refused(animals.deletePet({ petId }), "pet_has_open_orders");
  assert(order.id);
  await orders.cancelOrder({ orderId: order.id });
  await refused(orders.getOrder({ orderId: order.id }), "order_not_found");

  assert((await new petstore.EventsApi(configuration).listEvents({})).length > 0);
  for (const petId of ids) {
    await animals.deletePet({ petId });
  }
  await categories.deleteCategory({ categoryId });
  console.log("all worked");
}

void life();
