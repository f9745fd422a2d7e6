// Makes one request more than the minute allows, by a library that repeats requests, and prints how many were refused.
import assert from "node:assert/strict";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";

const [library, baseUrl, key, requests] = process.argv.slice(2);
assert(library && baseUrl && key && requests, "usage: limited LIBRARY URL KEY REQUESTS");
const url = `${baseUrl}/pets?limit=1`;
const headers = { Authorization: `Bearer ${key}` };
let refused = 0;

async function byGot() {
  const client = got.extend({ headers, hooks: { beforeRetry: [() => void refused++] } });
  return async () => (await client(url)).statusCode;
}

async function byKy() {
  const client = ky.create({ headers, timeout: false, hooks: { beforeRetry: [() => void refused++] } });
  return async () => (await client(url)).status;
}

async function byAxios() {
  const client = axios.create({ headers });
  // Its own default waits for nothing; the delay that its documentation names honours Retry-After.
  axiosRetry(client as Parameters<typeof axiosRetry>[0], { retryDelay: axiosRetry.exponentialDelay, onRetry: () => void refused++ });
  return async () => (await client.get(url)).status;
}

const libraries: Record<string, () => Promise<() => Promise<number>>> = { got: byGot, ky: byKy, "axios-retry": byAxios };
const make = libraries[library];
assert(make, `there is no library ${library}`);
const request = await make();
for (let i = 0; i < Number(requests); i++) {
  assert.equal(await request(), 200);
}
console.log(`refused ${refused}`);
