// How @hey-api/openapi-ts generates: ES modules as Node.js imports them, which check what they send and receive with zod. Its times
// have no offset unless it is told so.
export default {
  output: { path: "src/generated/hey-api", importFileExtension: ".js" },
  logs: { file: false },
  plugins: ["@hey-api/client-fetch", { name: "zod", dates: { offset: true } }, { name: "@hey-api/sdk", validator: true }],
};
