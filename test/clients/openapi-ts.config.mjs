// How @hey-api/openapi-ts generates: ES modules as Node.js imports them.
export default {
  output: { path: "src/hey", importFileExtension: ".js" },
  logs: { file: false },
};
