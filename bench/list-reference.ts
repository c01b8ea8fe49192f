import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import { sayPort } from './helper-process.ts'

// The least that a service of this kind could do. Arguments: the file of the body, the service's database, how the body
// is made (`bytes`, `text` or `objects`), and headers besides its type, as JSON.
const [bodyFile = '', database = '', how = '', more = '{}'] = process.argv.slice(2)
const headers = { ...(JSON.parse(more) as Record<string, string>), 'content-type': 'application/json; charset=utf-8' }
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

// The very look-up of the service, in the same file.
const byHash = new DatabaseSync(database, { readOnly: true }).prepare(`
  select tokens.*, users.username, users.role, users.disabled, users.password_hash, users.created_at as owner_created_at
  from tokens inner join users on users.id = tokens.owner
  where tokens.hash = ? and users.disabled = 0`)

const bytes = readFileSync(bodyFile)
const text = bytes.toString('utf8')
const objects = JSON.parse(text) as unknown
const bodies = { bytes: () => bytes, text: () => text, objects: () => JSON.stringify(objects) }
const body = bodies[how as keyof typeof bodies]

const app = Fastify()
app.get('/api/v1/projects', (request, reply) => {
  const { authorization } = request.headers
  const known = authorization === undefined ? undefined : byHash.get(hashOf(authorization.slice('Bearer '.length)))
  if (known === undefined) return reply.code(401).send()
  return reply.headers(headers).send(body())
})
await app.listen({ host: '127.0.0.1', port: 0 })
sayPort((app.server.address() as { port: number }).port)
