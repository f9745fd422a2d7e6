// A peer: Fastify with schemas, as its documentation writes a route.
// Usage: node fastify.js HOST PORT
import Fastify from 'fastify'

const status = { type: 'string', enum: ['available', 'pending', 'sold'] }
const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: { type: 'string' }, categoryId: { type: 'integer' }, status },
}
const problem = { type: 'object', properties: { code: { type: 'string' }, message: { type: 'string' } } }
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
    categoryId: { type: 'integer', minimum: 1 },
    status: { ...status, default: 'available' },
  },
}

const pets = Array.from({ length: 1000 }, (_, i) => ({
  id: i + 1, name: `Beagle ${String(i + 1).padStart(7, '0')}`, categoryId: 1 + ((i + 1) % 10), status: 'available',
}))
const fastify = Fastify({ logger: false })

fastify.get('/pets', {
  schema: {
    querystring: { type: 'object', properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 } } },
    response: { 200: { type: 'array', items: pet } },
  },
}, async (request) => pets.slice(0, request.query.limit))

fastify.get('/pets/:petId', {
  schema: {
    params: { type: 'object', properties: { petId: { type: 'integer', minimum: 1 } } },
    response: { 200: pet, 404: problem },
  },
}, async (request, reply) => {
  const found = pets[request.params.petId - 1]
  if (!found) return reply.code(404).send({ code: 'pet_not_found', message: 'There is no such pet.' })
  return found
})

fastify.post('/pets', { schema: { body: newPet, response: { 201: pet } } }, async (request, reply) => {
  const made = { id: pets.length + 1, ...request.body }
  pets.push(made)
  return reply.code(201).send(made)
})

await fastify.listen({ host: process.argv[2], port: Number(process.argv[3]) })
