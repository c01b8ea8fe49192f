import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operationList } from '@stackquay/contract'
import { newId, openStore } from '@stackquay/store'
import Fastify from 'fastify'
import { createAuthenticator } from '../apps/server/src/access/authenticator.ts'
import { createSessionCookie } from '../apps/server/src/access/session-cookie.ts'
import { hashOf, newTokenValue, shownPrefix } from '../apps/server/src/access/token-value.ts'
import { createAdmission } from '../apps/server/src/http/admission.ts'
import { createAdmissionHook } from '../apps/server/src/http/admission-hook.ts'
import { createClientReader } from '../apps/server/src/http/client.ts'
import { createOriginRules } from '../apps/server/src/http/origin.ts'
import { sayPort } from './helper-process.ts'

// One answer behind two routes: open, and behind the service's admission hook, over a store with a thousand tokens.
const home = mkdtempSync(join(tmpdir(), 'stackquay-bench-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

const store = await openStore({
  file: join(home, 'stackquay.db'),
  sealingKey: { id: 'bench', key: Buffer.alloc(32, 1) },
  clock: { now: () => new Date() },
})
const values = Array.from({ length: 1_000 }, newTokenValue)
await store.transaction(async (tx) => {
  const owner = await tx.users.insert({ id: newId('usr'), username: 'ada', role: 'admin', passwordHash: '' })
  for (const [index, value] of values.entries()) {
    await tx.tokens.insert({
      id: newId('tok'),
      name: `token ${index}`,
      hash: hashOf(value),
      prefix: shownPrefix(value),
      owner: owner.id,
      scope: 'read',
      projects: [],
      expiresAt: null,
    })
  }
})

const admit = createAdmission({
  authenticator: createAuthenticator({ store, cookie: createSessionCookie('bench'), log: { warn: console.warn } }),
  origins: createOriginRules({ listenHost: '127.0.0.1' }),
  client: createClientReader([], undefined),
  resolveProject: (ref) => store.projects.find(ref),
})
const enter = createAdmissionHook(admit, () => undefined)
const checked = operationList.find((operation) => operation.id === 'listProjects')!

const app = Fastify()
app.decorateRequest('principal')
app.get('/token', () => values[500])
app.get('/open', (_request, reply) => reply.send('{"ok":true}'))
app.get('/checked', { onRequest: enter(checked) }, (_request, reply) => reply.send('{"ok":true}'))
await app.listen({ host: '127.0.0.1', port: 0 })
sayPort((app.server.address() as { port: number }).port)
