import { ArchiveError, treeContents } from '@stackquay/archive'
import type { BackupVerification } from '@stackquay/contract'
import { dataOfPart, filesPart, settingsPart } from '@stackquay/domain'
import { readTree, writeTree } from '@stackquay/engines'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { backupEvent } from '../backups/backup-event.ts'
import { differenceOf } from '../backups/compare-contents.ts'
import { inDrillFolder } from '../backups/drill-folder.ts'
import { requireRoom } from '../backups/free-room.ts'
import { type OpenedBackup, openBackup } from '../backups/open-backup.ts'
import { problemOfFailure } from '../projects/progress-log.ts'
import { drillOf } from '../test-environment-id.ts'
import { type Check, drillData, type Note } from './drill-data.ts'
import { deadlines, findProject, type OperationDeps } from './operation-deps.ts'

/**
 * The restore drill: all of a backup is put back where nothing of the project is, and looked at. What it found is kept; that it found a
 * fault is a success of the drill. Nothing of it is left, also after a kill.
 */
export function verify(operation: ProjectOperation, deps: OperationDeps): Work {
  const backup = String(operation.input.backup)
  const environment = drillOf(operation.id)
  const began = performance.now()
  const checks: Check[] = []
  const note: Note = (part, check, ok, detail) => void checks.push({ part, check, ok, detail: detail.slice(0, 1000) })
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => [
        begin(environment, deps),
        checksums(backup, note, deps),
        room(backup, deps),
        settings(backup, note, deps),
      ],
      async () => {
        const row = await findProject(deps.store, operation.project)
        const opened = await openBackup(backup, [settingsPart], deps.backups)
        return partSteps({ environment, row, opened, note }, checks, deps)
      },
    ],
    settle: async (outcome) => {
      await deps.testEnvironments.closeLeft(environment)
      if (outcome.state === 'cancelled') return
      await keep(backup, outcome, { checks, seconds: (performance.now() - began) / 1000 }, deps)
    },
  }
}

function begin(environment: string, { testEnvironments }: OperationDeps): WorkStep {
  return { id: 'begin', title: 'Clear what an earlier drill left', run: () => testEnvironments.closeLeft(environment) }
}

function checksums(backup: string, note: Note, { backups }: OperationDeps): WorkStep {
  const run: WorkStep['run'] = async ({ signal }) => {
    for (const part of backups.known.find(backup)?.manifest.parts ?? []) {
      try {
        await backups.folder.check(backup, [part.id], signal)
        note(part.id, 'checksum', true, 'As it was written.')
      } catch (error) {
        if (!(error instanceof ArchiveError) || error.code !== 'damaged') throw error
        note(part.id, 'checksum', false, error.detail)
      }
    }
  }
  return { id: 'checksums', title: 'Compare the backup with its checksums', run }
}

/** One part after the other is unpacked, and gone before the next. */
function room(backup: string, { backups, config }: OperationDeps): WorkStep {
  const run = async () => {
    const sizes = (backups.known.find(backup)?.manifest.parts ?? []).map(({ contentBytes }) => contentBytes)
    await requireRoom(config.home, Math.max(0, ...sizes), 'The largest part')
  }
  return { id: 'room', title: 'Look whether there is room', run }
}

function settings(backup: string, note: Note, { backups }: OperationDeps): WorkStep {
  const run = async () => {
    const { settings: opened } = await openBackup(backup, [settingsPart], backups)
    const { secrets = {}, spec } = opened ?? {}
    note(
      settingsPart,
      'opened',
      opened !== null,
      `Settings of "${spec?.name ?? ''}", secrets: ${Object.keys(secrets).length}.`,
    )
  }
  return { id: 'settings', title: 'Open the settings', run }
}

function partSteps(
  drill: { readonly environment: string; readonly row: ProjectRow; readonly opened: OpenedBackup; readonly note: Note },
  checks: readonly Check[],
  deps: OperationDeps,
): readonly WorkStep[] {
  // A part whose bytes are not those that were written says nothing by being unpacked.
  const isWhole = (id: string) => !checks.some(({ part, ok }) => part === id && !ok)
  return drill.opened.manifest.parts
    .filter(({ id }) => id !== settingsPart && isWhole(id))
    .map((part) => ({
      id: `part:${part.id}`,
      title: part.id === filesPart ? 'Unpack the files and count them' : `Start ${part.title} on the copy and count`,
      run: (context) =>
        dataOfPart(part) === null ? drillFiles(drill, context, deps) : drillData(drill, part, context, deps),
    }))
}

async function drillFiles(
  { row, opened: { manifest }, note }: Parameters<typeof partSteps>[0],
  { signal }: StepContext,
  { backups, provision, config }: OperationDeps,
): Promise<void> {
  const account = await provision(row.id, signal)
  const found = await inDrillFolder(config.home, account, async (path) => {
    await writeTree(account, path, backups.folder.open(manifest.id, filesPart, signal), signal)
    const contents = treeContents()
    for await (const _ of contents.of(readTree(account, path, { signal }).bytes));
    return contents.found()
  })
  const expected = manifest.parts.find(({ id }) => id === filesPart)?.contents
  // An older backup says less.
  const compared = Object.fromEntries(Object.keys(expected ?? {}).map((name) => [name, found[name] ?? null]))
  const differs = expected === undefined ? null : differenceOf(expected, compared)
  const text = `${found.files} files, ${found.folders} folders, ${found.links} links`
  const same =
    expected === undefined ? '' : 'checksum' in expected ? ', the same as were taken' : ', as many as were taken'
  note(filesPart, 'unpacked', differs === null, differs ?? `${text}${same}.`)
}

async function keep(
  backup: string,
  outcome: Outcome,
  { checks, seconds }: Pick<BackupVerification, 'checks' | 'seconds'>,
  { store, backups }: OperationDeps,
): Promise<void> {
  const known = backups.known.find(backup)
  if (known === null) return
  const all = [...checks]
  if (outcome.state === 'failed') {
    const detail = problemOfFailure(outcome.error).detail ?? 'It could not be tried here.'
    all.push({ part: settingsPart, check: 'tried', ok: false, detail })
  }
  const found = outcome.state === 'failed' ? 'failed' : checks.every(({ ok }) => ok) ? 'whole' : 'faulty'
  const verified = await store.transaction(async (tx) => {
    const event = backupEvent('backup.verified', known.manifest)
    await tx.events.append({ ...event, data: { ...event.data, outcome: found } })
    return tx.backupChecks.put(backup, { outcome: found, seconds: Math.round(seconds * 10) / 10, checks: all })
  })
  backups.known.verified(backup, verified)
}
