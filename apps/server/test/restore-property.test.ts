import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Backup, OperationRecord, ProjectView } from '@stackquay/contract'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { pack } from 'tar-stream'
import { openTestApp, type TestApp } from './projects-support.ts'

const random = randomFrom(20_261_127)
const chance = (share: number) => random() < share
const some = <T>(all: readonly T[]): readonly T[] => all.filter(() => chance(0.5))

/** Types whose data is copied while they are stopped: on the pretended machine no program of theirs runs. */
const services = ['rabbitmq', 'meilisearch']

/** Whatever a project has, whatever parts of it are backed up and restored: these are as they were, and no other is touched. */
test('a random part of a random project is restored, or nothing of it', {
  timeout: rounds(120_000, 1_800_000),
}, async (t) => {
  const counts: Record<string, number> = {}
  for (let round = 0; round < rounds(12, 200); round += 1) {
    let outcome = ''
    // Each round has an app of its own, which ends with it.
    await t.test(`round ${round}`, async (inner) => {
      outcome = await one(inner, round)
    })
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  t.diagnostic(
    Object.entries(counts)
      .map(([outcome, times]) => `${outcome} ${times}`)
      .join(', '),
  )
  assert.ok((counts.succeeded ?? 0) > 0 && (counts.failed ?? 0) > 0, JSON.stringify(counts))
})

async function one(t: TestContext, round: number): Promise<string> {
  const app = await openTestApp(t)
  app.engine.commands.exec = async () => ({ code: 127, signal: null, at: new Date().toISOString() })
  const databases = ['main', 'stock', 'old'].slice(0, Math.floor(random() * 4))
  const body = {
    name: 'Shop',
    databases: Object.fromEntries(databases.map((name) => [name, { type: 'mariadb' }])),
    ...Object.fromEntries(some(services).map((name) => [name, {}])),
    env: { KEY: { value: 'A', secret: true } },
  }
  const made = await app.ask<ProjectView>('POST', '/projects?wait=10', body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const project = made.body
  if (chance(0.3)) await app.ask('POST', '/projects/shop/stop?wait=10')
  const parts = await partsOf(app)
  await mark(app, project, parts, 'A')
  const others = parts.filter((part) => part !== 'settings')
  // Settings come along by themselves; what is asked for is at least one.
  const wanted = chance(0.5) ? others : [...new Set([others[Math.floor(random() * others.length)]!, ...some(others)])]
  const backedUp = ['settings', ...wanted]
  const backup = (await app.ask<Backup>('POST', '/projects/shop/backups?wait=10', { parts: wanted })).body
  assert.deepEqual(
    backup.parts?.map(({ id }) => id),
    parts.filter((part) => backedUp.includes(part)),
    `round ${round}`,
  )
  await mark(app, project, parts, 'B')
  const restored = [backedUp[Math.floor(random() * backedUp.length)]!, ...some(backedUp)]
  const fault = chance(0.4) ? (['start', 'stop'] as const)[Math.floor(random() * 2)]! : null
  if (fault !== null) app.engine.failNext(fault)
  const { body: ended } = await app.ask<OperationRecord>(
    'POST',
    `/projects/shop/backups/${backup.id}/restore?wait=20`,
    { confirm: 'shop', parts: [...new Set(restored)] },
    { 'if-match': '*' },
  )
  const why = `round ${round}: ${restored} of ${backedUp}, ${fault}: ${JSON.stringify(ended)}`
  assert.ok(ended.state === 'succeeded' || (ended.state === 'failed' && fault !== null), why)
  for (const part of parts) {
    const expected: string = ended.state === 'succeeded' && restored.includes(part) ? 'A' : 'B'
    assert.equal(await markOf(app, project, part), expected, `${why}: ${part}`)
  }
  return ended.state
}

async function partsOf({ ask }: TestApp): Promise<readonly string[]> {
  const { body } = await ask<Backup>('POST', '/projects/shop/backups?wait=10', {})
  assert.ok(body.parts, JSON.stringify(body))
  await ask('DELETE', `/projects/shop/backups/${body.id}`)
  return body.parts.map(({ id }) => id)
}

async function mark(app: TestApp, project: ProjectView, parts: readonly string[], text: string): Promise<void> {
  await app.ask('PATCH', '/projects/shop?wait=10', { env: { KEY: { value: text } } })
  await writeFile(join(project.path, 'state.txt'), text)
  for (const part of parts) {
    if (!/:/.test(part)) continue
    const archive = pack()
    archive.entry({ name: 'state', mode: 0o600 }, text)
    archive.finalize()
    app.engine.machine.archives.set(keyOf(app, project, part), Buffer.concat(await Array.fromAsync(archive)))
  }
}

async function markOf(app: TestApp, project: ProjectView, part: string): Promise<string> {
  if (part === 'files') return await readFile(join(project.path, 'state.txt'), 'utf8')
  if (part === 'settings')
    return (await app.ask<{ value: string }>('GET', '/projects/shop/env/KEY?reveal=true')).body.value
  const archive = app.engine.machine.archives.get(keyOf(app, project, part))
  // The content follows the header.
  return archive === undefined ? 'none' : archive.toString('latin1', 512, 513)
}

function keyOf({ engine }: TestApp, { id }: ProjectView, part: string): string {
  const name = part.slice(part.indexOf(':') + 1)
  const found = [...engine.machine.data.keys()].find(
    (key) => key === `${id}/${name}` || key === `${id}/mariadb-${name}`,
  )
  assert.ok(found, `${part} has no data`)
  return found
}
