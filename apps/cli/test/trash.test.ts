import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrashItem } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, project, standIn } from './stand-in.ts'

const id = 'trs_01m8c6dq1rn0g4evt7q48rpkfk'
const item: TrashItem = {
  id,
  kind: 'project',
  name: 'shop',
  state: 'kept',
  project: { id: 'prj_1', slug: 'shop', name: 'Shop', deleted: true },
  engine: 'native',
  data: [{ name: 'redis', sizeBytes: 1_200_000 }],
  sizeBytes: 1_200_000,
  deletedAt: '2026-01-01T00:00:00.000Z',
  deletedBy: 'ada\x1b[2J',
  purgeAt: '2026-01-31T00:00:00.000Z',
}

test('against a stand-in: the trash is listed, an item restored under another slug, and purged with its name typed', async () => {
  const bodies: unknown[] = []
  const purged: (string | null)[] = []
  await using service = await standIn({
    'GET /trash': () => ({ items: [item], keepDays: 30 }),
    [`POST /trash/${id}/restore`]: ({ body }) => {
      bodies.push(body)
      return project({ operation: null })
    },
    'GET /projects/prj_1': () => project(),
    [`DELETE /trash/${id}`]: ({ query }) => {
      purged.push(query.get('confirm'))
      return { ...item, state: 'purging' }
    },
  })
  const { stdout } = await stq(['trash'], { url: service.url })
  assert.match(
    stdout,
    /^ITEM +WHAT +PROJECT +SIZE +DELETED +KEPT UNTIL\ntrs_\w+ +project shop +shop +1\.2 MB .* 2026-01-31/,
  )
  assert.ok(!stdout.includes('\x1b[2J'))
  assert.equal((await stq(['trash', 'list', '--quiet'], { url: service.url })).stdout, `${id}\n`)

  const restored = await stq(['trash', 'restore', id, '--slug', 'shop-2', '--leave-out-hosts'], { url: service.url })
  assert.equal(restored.code, 0, restored.stderr)
  assert.deepEqual(bodies, [{ slug: 'shop-2', leaveOutHosts: true }])

  assert.equal((await stq(['trash', 'purge', id], { url: service.url })).code, 2, 'without a terminal it is typed')
  assert.equal((await stq(['trash', 'purge', id, '--confirm', 'other'], { url: service.url })).code, 2)
  assert.equal((await stq(['trash', 'purge', 'trs_none', '--confirm', 'x'], { url: service.url })).code, 4)
  assert.deepEqual(purged, [])
  assert.equal((await stq(['trash', 'purge', id, '--confirm', 'shop'], { url: service.url })).code, 0)
  assert.deepEqual(purged, ['shop'])
})

test('against a stand-in: --purge is asked of the service, and the plan says until when the rest lies in the trash', async () => {
  const asked: string[] = []
  await using service = await standIn({
    'GET /projects/shop': () => project(),
    'DELETE /projects/prj_1': ({ query }) => {
      asked.push(query.toString())
      return operation({ state: 'succeeded' })
    },
    'GET /operations/op_1': () => operation({ state: 'succeeded' }),
    'DELETE /projects/shop': ({ query }) => ({
      plan: { ...emptyPlan, deletesData: ['redis'], trashUntil: query.has('purge') ? null : '2026-01-31T00:00:00Z' },
    }),
  })
  const plan = await stq(['delete', 'shop', '--data', 'delete', '--dry-run'], { url: service.url })
  assert.match(plan.stdout, /stays in the trash until 2026-01-31; only --purge frees disk now/)
  const purge = await stq(['delete', 'shop', '--data', 'delete', '--purge', '--dry-run'], { url: service.url })
  assert.doesNotMatch(purge.stdout, /trash/)
  const gone = await stq(['delete', 'shop', '--data', 'delete', '--purge', '--confirm', 'shop'], { url: service.url })
  assert.equal(gone.code, 0, gone.stderr)
  assert.deepEqual(asked, ['confirm=shop&data=delete&purge=true'])
})
