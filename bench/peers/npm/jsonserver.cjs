// A peer: json-server as a module, with its defaults but the log of requests,
// on a database in memory.
// Usage: node jsonserver.cjs HOST PORT
const jsonServer = require('json-server')

const pets = Array.from({ length: 1000 }, (_, i) => ({
  id: i + 1, name: `Beagle ${String(i + 1).padStart(7, '0')}`, categoryId: 1 + ((i + 1) % 10), status: 'available',
}))
const server = jsonServer.create()
server.use(jsonServer.defaults({ logger: false }))
server.use(jsonServer.router({ pets }))
server.listen(Number(process.argv[3]), process.argv[2])
