import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operationList } from '@stackquay/contract'
import { newId, openStore } from '@stackquay/store'
import { createAuthenticator } from '../apps/server/src/access/authenticator.ts'
import { createSessionCookie } from '../apps/server/src/access/session-cookie.ts'
import { hashOf, newTokenValue, shownPrefix } from '../apps/server/src/access/token-value.ts'
import { auditHandlers } from '../apps/server/src/audit/handlers.ts'
import { createAdmission } from '../apps/server/src/http/admission.ts'
import { createHttpApp, type HttpAppDeps } from '../apps/server/src/http/app.ts'
import { createClientReader } from '../apps/server/src/http/client.ts'
import { createDeniedLog } from '../apps/server/src/http/denied-log.ts'
import { createOriginRules } from '../apps/server/src/http/origin.ts'
import { sayPort } from './helper-process.ts'

// The service’s HTTP app over a store with so many audit entries. Operations other than those of the audit log answer nothing.
const entries = Number(process.argv[2])
const home = mkdtempSync(join(tmpdir(), 'stackquay-bench-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

const store = await openStore({
  file: join(home, 'stackquay.db'),
  sealingKey: { id: 'bench', key: randomBytes(32) },
  checkpointFile: join(home, 'audit.checkpoint'),
  clock: { now: () => new Date() },
})
const value = newTokenValue()
await store.transaction(async (tx) => {
  const owner = await tx.users.insert({ id: newId('usr'), username: 'ada', role: 'admin', passwordHash: '' })
  const token = { id: newId('tok'), name: 'bench', hash: hashOf(value), prefix: shownPrefix(value), owner: owner.id }
  await tx.tokens.insert({ ...token, scope: 'admin', projects: [], expiresAt: null })
})
const actions = ['project.start', 'project.stop', 'project.update', 'project.env.set', 'auth.login']
const projects = Array.from({ length: 20 }, () => newId('prj'))
for (let done = 0; done < entries; done += 1000) {
  await store.transaction(async (tx) => {
    for (let index = done; index < Math.min(done + 1000, entries); index++) {
      await tx.audit.append({
        actor: index % 3 === 0 ? 'ada' : `grace (token: ci ${index % 7})`,
        action: actions[index % actions.length]!,
        target: `project-${index % 20}`,
        project: projects[index % 20]!,
        outcome: index % 50 === 0 ? 'denied' : 'success',
        changes: { before: { version: '22', port: 3000 }, after: { version: '24', port: 3000, env: ['A', 'B'] } },
        requestId: `req_${index}`,
        operationId: newId('op'),
        source: 'api',
        ip: '127.0.0.1',
        userAgent: 'stq/0.1.0',
      })
    }
  })
}

const log = { warn: console.warn, error: console.error }
const nothing = async () => ({ status: 204 })
const calls = operationList.filter(({ id, stream }) => stream === undefined && id !== 'getOpenapi')
const authenticator = createAuthenticator({ store, cookie: createSessionCookie('bench'), log })
const app = createHttpApp({
  handlers: {
    ...Object.fromEntries(calls.map(({ id }) => [id, nothing])),
    ...auditHandlers({ store }),
  } as unknown as HttpAppDeps['handlers'],
  streams: Object.fromEntries(
    operationList
      .filter(({ id, stream }) => stream === 'websocket' && id !== 'watchEvents')
      .map(({ id }) => [id, async () => {}]),
  ) as unknown as HttpAppDeps['streams'],
  store,
  settings: { version: 'bench', listenHost: '127.0.0.1' },
  authenticator,
  denied: createDeniedLog({ store, log }),
  webFolder: null,
  log,
})

const admit = createAdmission({
  authenticator,
  origins: createOriginRules({ listenHost: '127.0.0.1' }),
  client: createClientReader([], undefined),
  resolveProject: (ref) => store.projects.find(ref),
})
const listProjects = operationList.find(({ id }) => id === 'listProjects')!
const message = { method: 'GET', headers: { authorization: `Bearer ${value}` } } as IncomingMessage

/** Microseconds for who calls and whether they may, alone: one number a round. */
app.get('/check', async () => {
  const perRound = 10_000
  // The first one is looked up; from then on the store has the token in memory.
  await admit({ operation: listProjects, params: {}, message })
  return Array.from({ length: 20 }, () => {
    const began = performance.now()
    for (let turn = 0; turn < perRound; turn++) admit({ operation: listProjects, params: {}, message })
    return ((performance.now() - began) * 1000) / perRound
  }).slice(5)
})

let peak = 0
app.get('/token', () => value)
app.get('/project', () => projects[3])
/** Resident memory: now, and the highest since it was last asked. */
app.get('/memory', () => {
  globalThis.gc?.()
  const now = process.memoryUsage.rss()
  const answer = { now, peak: Math.max(peak, now) }
  peak = 0
  return answer
})
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 5).unref()
await app.listen({ host: '127.0.0.1', port: 0 })
sayPort((app.server.address() as { port: number }).port)
