// Calls by what swagger-typescript-api makes of the description.
import { Api, type HttpResponse, type Error as Problem } from "./generated/swagger-typescript-api.js";
import { type Answer, live } from "./life.js";

const [baseUrl, key] = process.argv.slice(2);
const api = new Api({ baseUrl: baseUrl!, baseApiParams: { secure: true }, securityWorker: () => ({ headers: { Authorization: `Bearer ${key}` } }) });

// It throws the response if that is no success.
async function answer<T>(call: Promise<HttpResponse<T, Problem>>): Promise<Answer<T>> {
  const r = await call.catch((thrown: HttpResponse<T, Problem>) => thrown);
  return { status: r.status, data: r.ok ? r.data : undefined, error: r.ok ? undefined : r.error, retryAfter: r.headers.get("Retry-After") };
}

await live({
  createCategory: (name) => answer(api.categories.createCategory({ name })),
  createPet: (name, categoryId) => answer(api.pets.createPet({ name, categoryId })),
  listPets: (id, status) => answer(api.pets.listPets({ id, status })),
  createOrder: (petId) => answer(api.store.createOrder({ petId })),
  listEvents: () => answer(api.events.listEvents()),
});
