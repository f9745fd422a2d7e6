// Calls by what kubb makes of the description for axios.
import { answer, settings } from "./axios.js";
import * as petstore from "./generated/kubb/index.js";
import { live } from "./life.js";

const [baseUrl, key] = process.argv.slice(2);
const config = settings(baseUrl, key);

await live({
  createCategory: (name) => answer(petstore.createCategory({ name }, {}, config)),
  createPet: (name, categoryId) => answer(petstore.createPet({ name, categoryId }, {}, config)),
  listPets: (id, status) => answer(petstore.listPets({ id, status }, {}, config)),
  createOrder: (petId) => answer(petstore.createOrder({ petId }, {}, config)),
  listEvents: () => answer(petstore.listEvents({}, {}, config)),
});
