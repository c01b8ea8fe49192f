import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InstanceBackup } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { standIn } from './stand-in.ts'

const id = 'ibk_01m7x1001nzn07vcmqy9nx'
const made: InstanceBackup = {
  id,
  createdAt: '2026-01-01T00:00:00.000Z',
  note: 'Before the move\x1b[2J',
  source: 'manual',
  stackquayVersion: '0.1.0',
  schema: 12,
  keyId: '4f0c2b9d7a11',
  opensHere: false,
  sizeBytes: 1_200_000,
  projects: 3,
  users: 2,
  auditEntries: 40,
  auditWhole: true,
  copies: [],
}

test('against a stand-in: backups of the instance are listed with the key they need, made, and deleted when that was confirmed', async () => {
  const deleted: string[] = []
  await using service = await standIn({
    'GET /instance/backups': () => ({ items: [made] }),
    'POST /instance/backups': ({ body }) => ({ ...made, note: (body as { note: string }).note }),
    [`DELETE /instance/backups/${id}`]: (_call, response) => {
      deleted.push(id)
      response.writeHead(204).end()
    },
  })
  const { stdout } = await stq(['instance', 'backup', 'list'], { url: service.url })
  assert.match(
    stdout,
    /^BACKUP +MADE +SIZE +PROJECTS +USERS +KEY +NOTE\nibk_\w+ .* 1\.2 MB +3 +2 +4f0c2b9d7a11 \(not here\) +Before the move/,
  )
  assert.ok(!stdout.includes('\x1b[2J'))
  assert.equal((await stq(['instance', 'backup', 'list', '--quiet'], { url: service.url })).stdout, `${id}\n`)
  const created = await stq(['instance', 'backup', 'create', '--note', 'x'], { url: service.url })
  assert.deepEqual([created.code, created.stdout], [0, `${id}\n`])
  assert.equal((await stq(['instance', 'backup', 'delete', id], { url: service.url })).code, 2)
  assert.deepEqual(deleted, [])
  assert.equal((await stq(['instance', 'backup', 'delete', id, '--yes'], { url: service.url })).code, 0)
  assert.deepEqual(deleted, [id])
})

test('against a stand-in: the schedule of the instance is shown, set with its targets and cleared', async () => {
  const sent: unknown[] = []
  const schedule = {
    cron: '15 2 * * *',
    timezone: 'UTC',
    keep: { last: 7, daily: 7, weekly: 4, monthly: 6 },
    targets: ['tgt_1'],
    keepOnTargets: null,
    nextAt: null,
    dueAt: null,
    lastBackupAt: null,
    late: false,
    problem: null,
    copies: [{ target: 'tgt_1', name: 'Cellar', state: null, at: null, late: false, problem: null, keepProblem: null }],
  }
  let set: object | null = null
  await using service = await standIn({
    'GET /instance/backup-schedule': () => ({ schedule: set }),
    'GET /backup-targets': () => ({ items: [{ id: 'tgt_1', name: 'Cellar' }] }),
    'PUT /instance/backup-schedule': ({ body }) => {
      sent.push(body)
      set = schedule
      return { schedule }
    },
    'DELETE /instance/backup-schedule': (_call, response) => void response.writeHead(204).end(),
  })
  const run = (...words: string[]) => stq(['instance', 'backup', 'schedule', ...words], { url: service.url })
  assert.match((await run()).stdout, /The instance has no schedule/)
  const made = await run('set', '15 2 * * *', '--timezone', 'UTC', '--target', 'Cellar')
  assert.equal(made.code, 0, made.stderr)
  assert.deepEqual(sent, [{ cron: '15 2 * * *', timezone: 'UTC', keep: {}, targets: ['tgt_1'] }])
  const shown = (await run('show')).stdout
  assert.match(shown, /On targets +all copies stay[\s\S]*Cellar: none of the newest/)
  assert.doesNotMatch(shown, /Verifies/)
  assert.equal((await run('clear')).code, 0)
})
