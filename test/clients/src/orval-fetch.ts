// Calls by what orval makes of the description for fetch.
import * as petstore from "./generated/orval-fetch.js";
import { type Answer, type Event, live } from "./life.js";

const [baseUrl, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };

// It knows no host at run time: that is for a fetch of one's own.
const fetchOfNode = globalThis.fetch;
globalThis.fetch = (path, init) => fetchOfNode(new URL(String(path), baseUrl), init);

type Result = { status: number; data: unknown; headers: Headers };

async function answer<R extends Result>(call: Promise<R>): Promise<Answer<Extract<R, { status: 200 | 201 }>["data"]>> {
  const { status, data, headers } = await call;
  const ok = status < 300;
  return { status, data: ok ? data : undefined, error: ok ? undefined : (data as petstore.Error), retryAfter: headers.get("Retry-After") };
}

await live({
  createCategory: (name) => answer(petstore.createCategory({ name }, { headers })),
  createPet: (name, categoryId) => answer(petstore.createPet({ name, categoryId }, { headers })),
  listPets: (id, status) => answer(petstore.listPets({ id, status }, { headers })),
  createOrder: (petId) => answer(petstore.createOrder({ petId }, { headers })),
  // As text it would be a stream.
  listEvents: () => answer(petstore.listEvents({}, { headers })) as Promise<Answer<Event[]>>,
});
