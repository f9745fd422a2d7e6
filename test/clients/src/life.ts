// A short life of a shop, by whichever client: it creates, lists and orders, and is refused, for its stock and for its limit.
import assert from "node:assert/strict";

// An Answer is what came back of a call, however its client says it.
export interface Answer<T> {
  status: number;
  data: T | undefined; // of a success
  error: { code: string; status: number } | undefined;
  retryAfter: string | null | undefined;
}

// An Event has in data what its type says, such as a pet.
export interface Event {
  type: string;
  data: { [member: string]: unknown };
}

// Calls are those that a client's program makes, with the types that its generator made of the description.
export interface Calls {
  createCategory(name: string): Promise<Answer<{ id: number }>>;
  createPet(name: string, categoryId: number): Promise<Answer<{ id: number; status?: string }>>;
  listPets(id: number[], status: ("available" | "pending")[]): Promise<Answer<{ id: number }[]>>;
  createOrder(petId: number): Promise<Answer<{ id?: number; quantity?: number }>>;
  listEvents(): Promise<Answer<Event[]>>;
}

function done<T>(answer: Answer<T>, status: number): T {
  assert.equal(answer.status, status, JSON.stringify(answer.error));
  assert(answer.data !== undefined);
  return answer.data;
}

// What a later server may answer with, if it is one: see the test.
const later = process.argv[4] === "later";

export async function live(calls: Calls) {
  const cats = done(await calls.createCategory("Cats"), 201);
  const tom = done(await calls.createPet("Tom", cats.id), 201);
  const jerry = done(await calls.createPet("Jerry", cats.id), 201);
  assert.equal(tom.status, "available");
  assert.deepEqual(done(await calls.listPets([tom.id, jerry.id], ["available", "pending"]), 200), [tom, jerry]);
  assert.equal(done(await calls.createOrder(tom.id), 201).quantity, 1);
  const sold = await calls.createOrder(tom.id);
  assert.deepEqual([sold.status, sold.error?.code], [409, later ? "pet_asleep" : "pet_not_available"]);
  const events = done(await calls.listEvents(), 200);
  const created = events.find((event) => event.type === (later ? "pet.photographed" : "pet.created"));
  assert.equal(created?.data["name"], "Tom", JSON.stringify(events));
  for (let n = 0; ; n++) {
    const answer = await calls.listPets([tom.id], ["available"]);
    if (answer.status === 200 && n < 30) continue;
    assert.deepEqual([answer.status, answer.error?.code], [429, "rate_limit_exceeded"]);
    assert(Number(answer.retryAfter) >= 1, `Retry-After is ${answer.retryAfter}`);
    break;
  }
  console.log("a shop's life is over");
}
