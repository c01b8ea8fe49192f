import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { BackupTarget, ScheduledCopy, TargetBackup } from '@stackquay/contract'
import { waitFor } from '@stackquay/testkit'
import type { TestApp } from './projects-support.ts'
import { nightly, scheduleOf } from './schedules-support.ts'

export const path = '/projects/shop/backup-schedule'

export async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-offsite-'))
  t.after(() => Promise.all([folder, `${folder}-away`].map((one) => rm(one, { recursive: true, force: true }))))
  return folder
}

export async function addFolder({ ask }: TestApp, folder: string, name = 'Offsite'): Promise<BackupTarget> {
  const made = await ask<BackupTarget>('POST', '/backup-targets', { name, folder: { path: folder } })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

export async function nameTargets({ ask }: TestApp, ids: readonly string[], more: object = {}): Promise<void> {
  const put = await ask('PUT', path, { ...nightly, ...more, targets: ids })
  assert.equal(put.status, 200, JSON.stringify(put.body))
}

/** In this state, and nothing under way. */
export async function untilCopied(
  app: TestApp,
  isSo: (copies: readonly ScheduledCopy[]) => boolean,
): Promise<ScheduledCopy[]> {
  let seen: ScheduledCopy[] = []
  await waitFor('the state of the copies', async () => {
    seen = (await scheduleOf(app)).copies
    return isSo(seen) && (await app.store.operations.unfinished()).length === 0
  }).catch((error: unknown) => assert.fail(`${String(error)} ${JSON.stringify(seen)}`))
  return seen
}

export const are = (state: ScheduledCopy['state']) => (copies: readonly ScheduledCopy[]) =>
  copies.length > 0 && copies.every((copy) => copy.state === state)

/** Days of the backups that lie on the target, oldest first. */
export async function daysOn({ ask }: TestApp, { id }: BackupTarget): Promise<readonly string[]> {
  const { body } = await ask<{ items: TargetBackup[] }>('GET', `/backup-targets/${id}/backups`)
  return body.items.map(({ createdAt }) => createdAt.slice(5, 10)).reverse()
}
