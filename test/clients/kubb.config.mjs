// How kubb generates: ES modules as Node.js imports them, functions that return the whole response.
import { defineConfig } from "@kubb/core";
import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";

export default defineConfig(({ input }) => ({
  input: { path: input },
  output: { path: "src/generated/kubb", extension: { ".ts": ".js" } },
  plugins: [pluginOas({ validate: false, generators: [] }), pluginTs(), pluginClient({ dataReturnType: "full" })],
}));
