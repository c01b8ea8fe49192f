import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CronState } from '@stackquay/domain'
import { newProject, tempStore } from './temp-store.ts'

const state: CronState = {
  schedule: '0 3 * * *',
  timezone: 'Europe/Berlin',
  countsFrom: '2026-01-01T02:00:00.000Z',
  active: true,
  skippedAt: null,
  skippedBecause: null,
}

test('what is remembered of a cron job is kept whole, replaced, and goes with its project', async (t) => {
  const { store } = await tempStore(t)
  const project = newProject('shop')
  await store.transaction(async (tx) => {
    await tx.projects.insert(project)
    await tx.cron.put(project.id, 'nightly', state)
    await tx.cron.put(project.id, 'hourly', state)
  })
  const skipped: CronState = { ...state, active: false, skippedAt: state.countsFrom, skippedBecause: 'still_running' }
  await store.transaction((tx) => tx.cron.put(project.id, 'nightly', skipped))
  assert.deepEqual(await store.cron.find(project.id, 'nightly'), skipped)
  await store.transaction((tx) => tx.cron.delete(project.id, 'hourly'))
  assert.equal(await store.cron.find(project.id, 'hourly'), null)
  assert.deepEqual(
    [...(await store.cron.all())].map(([id, jobs]) => [id, [...jobs]]),
    [[project.id, [['nightly', skipped]]]],
  )
  await store.transaction((tx) => tx.projects.delete(project.id))
  assert.equal((await store.cron.all()).size, 0)
})
