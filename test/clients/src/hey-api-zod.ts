// Calls by what @hey-api/openapi-ts makes of the description, each checked with the schemas of zod that it makes too.
import { createClient, createConfig } from "./generated/hey-api/client/index.js";
import * as petstore from "./generated/hey-api/index.js";
import { type Answer, live } from "./life.js";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient(createConfig({ baseUrl: baseUrl!, auth: ({ scheme }) => (scheme === "bearer" ? key : undefined) }));

type Result<T> = { data?: T | undefined; error?: unknown; response?: Response };

async function answer<T>(call: Promise<Result<T>>): Promise<Answer<T>> {
  const { data, error, response } = await call;
  if (response === undefined || (error !== undefined && response.ok)) throw error; // by zod
  return { status: response.status, data, error: error as petstore.Error | undefined, retryAfter: response.headers.get("Retry-After") };
}

await live({
  createCategory: (name) => answer(petstore.createCategory({ client, body: { name } })),
  createPet: (name, categoryId) => answer(petstore.createPet({ client, body: { name, categoryId } })),
  listPets: (id, status) => answer(petstore.listPets({ client, query: { id, status } })),
  createOrder: (petId) => answer(petstore.createOrder({ client, body: { petId } })),
  listEvents: () => answer(petstore.listEvents({ client })),
});
