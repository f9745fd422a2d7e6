// Calls by what orval makes of the description for axios.
import { answer, settings } from "./axios.js";
import { getPetstore } from "./generated/orval-axios.js";
import { type Answer, type Event, live } from "./life.js";

const [baseUrl, key] = process.argv.slice(2);
const petstore = getPetstore();
const config = settings(baseUrl, key);

await live({
  createCategory: (name) => answer(petstore.createCategory({ name }, config)),
  createPet: (name, categoryId) => answer(petstore.createPet({ name, categoryId }, config)),
  listPets: (id, status) => answer(petstore.listPets({ id, status }, config)),
  createOrder: (petId) => answer(petstore.createOrder({ petId }, config)),
  // As text it would be a stream.
  listEvents: () => answer(petstore.listEvents({}, config)) as Promise<Answer<Event[]>>,
});
