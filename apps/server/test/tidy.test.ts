import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { byTheService, openStore } from '@stackquay/store'
import { keyPlace } from '../src/sealing-key.ts'
import { tidyRegularly } from '../src/tidy.ts'

test('the audit log is kept as long as the setting says, says itself what went, and stays whole', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-tidy-'))
  let time = Date.parse('2026-01-01T00:00:00Z')
  const now = () => new Date(time)
  const store = await openStore({
    ...{ file: join(folder, 'state.db'), ...keyPlace(folder, null).candidates },
    ...{ checkpointFile: join(folder, 'audit.checkpoint'), clock: { now } },
  })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  const begin = (await store.audit.list({ limit: 1000 })).length
  for (let day = 0; day < 40; day += 1) {
    await store.transaction(async (tx) => {
      for (let turn = 0; turn < 30; turn += 1) await tx.audit.append(byTheService({ action: 'project.start' }))
    })
    time += 24 * 60 * 60 * 1000
  }
  const config: { auditDays: number | null } = { auditDays: null }
  const errors: unknown[] = []
  const tidied = async () => {
    const onError = (error: unknown) => void errors.push(error)
    const stop = tidyRegularly({ store, config, now, onError, namesExpired: async () => {} })
    // Which is under way already when it answers.
    for (let before = -1, after = 0; before !== after; after = (await store.audit.verify()).entries) {
      before = after
      await delay(50)
    }
    stop()
    assert.deepEqual(errors, [])
    return store.audit.verify()
  }
  const { entries } = await tidied()
  assert.equal(entries, begin + 40 * 30)

  config.auditDays = 20
  const left = await tidied()
  assert.deepEqual([left.ok, left.firstBroken], [true, null], left.reason ?? '')
  const told = await store.audit.list({ limit: 10, action: 'audit.prune' })
  const counts = told.map(({ changes }) => (changes as { entries: number }).entries)
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    begin + 20 * 30,
  )
  assert.equal(left.entries, 20 * 30 + told.length)
  assert.equal((await tidied()).entries, left.entries)
})
