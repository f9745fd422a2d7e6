import { createServer } from "node:http";
import { verify } from "./verify.mjs";

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part)).on("end", () => {
    const body = Buffer.concat(parts);
    const genuine = verify(process.env.SECRET, request.headers, body);
    response.writeHead(genuine ? 204 : 401).end();
    if (genuine) console.log(body.toString());
  });
}).listen(3000, "127.0.0.1");
