import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AuditEntry, Backup, BackupScheduleView } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import { openTestApp, type TestApp } from './projects-support.ts'

/** A clock that stands until it is let go, and that can be set. */
export function testClock(time: string) {
  let standsAt: number | null = Date.parse(time)
  let ahead = 0
  const set = (to: string | number) => {
    standsAt = null
    ahead = new Date(to).getTime() - Date.now()
  }
  return {
    now: () => new Date(standsAt ?? Date.now() + ahead),
    set,
    letGo: () => set(standsAt ?? Date.now() + ahead),
  }
}

export const nightly = { cron: '30 2 * * *', verify: 'never', keep: { last: 100, daily: 0, weekly: 0, monthly: 0 } }

export async function openScheduled(t: TestContext, time: string, body: object = {}, settings: object = nightly) {
  const clock = testClock(time)
  const app = await openTestApp(t, { now: clock.now })
  // The pretended machine has none of the programs that count what is in data.
  app.engine.commands.exec = async () => ({ code: 127, signal: null, at: new Date().toISOString() })
  const { status, body: project } = await app.ask('POST', '/projects?wait=10', { name: 'Shop', ...body })
  assert.equal(status, 201)
  const put = await app.ask<{ schedule: BackupScheduleView }>('PUT', '/projects/shop/backup-schedule', settings)
  assert.equal(put.status, 200, JSON.stringify(put.body))
  clock.letGo()
  return { app, clock, project, set: put.body.schedule }
}

export async function scheduleOf({ ask }: TestApp, slug = 'shop'): Promise<BackupScheduleView> {
  return (await ask<{ schedule: BackupScheduleView }>('GET', `/projects/${slug}/backup-schedule`)).body.schedule
}

/** The days of those made by schedule, oldest first. */
export async function daysOf({ ask }: TestApp): Promise<readonly string[]> {
  const { body } = await ask<{ items: Backup[] }>('GET', '/projects/shop/backups')
  const scheduled = body.items.filter(({ source }) => source === 'schedule')
  return scheduled.map(({ createdAt }) => createdAt.slice(5, 10)).reverse()
}

/** At these days and no others. */
export async function untilDays(app: TestApp, days: readonly string[]): Promise<void> {
  const wanted = JSON.stringify(days)
  let seen = ''
  await waitFor(`backups of ${days}`, async () => {
    seen = JSON.stringify(await daysOf(app))
    return seen === wanted
  }).catch((error: unknown) => assert.equal(seen, wanted, String(error)))
  await waitFor('the end of operations', async () => (await app.store.operations.unfinished()).length === 0)
}

/** Has the scheduler look now, and not when a minute of the test has passed. */
export async function wake({ store }: TestApp): Promise<void> {
  await store.transaction((tx) => tx.events.append({ type: 'backup.scheduled', project: null, data: {} }))
}

/** At this time, and looked. */
export async function setAndWake(clock: ReturnType<typeof testClock>, time: string, app: TestApp): Promise<void> {
  clock.set(time)
  await wake(app)
}

export const audited = async ({ store }: TestApp, action: string): Promise<readonly AuditEntry[]> =>
  store.audit.list({ limit: 50, action })
