import type { Manifest, PartEntry } from '@stackquay/archive'
import { dataOfPart, filesPart, localFolders, revertSpec, secretsOfPart, settingsPart } from '@stackquay/domain'
import type { Change } from '@stackquay/engine-api'
import { clearTree, writeTree } from '@stackquay/engines'
import { engineSteps, type StepContext } from '@stackquay/orchestrator'
import { newId, type ProjectRow } from '@stackquay/store'
import { rebuildableOf } from '../backups/project-parts.ts'
import { putSettings } from '../backups/put-settings.ts'
import type { BackedUpSettings } from '../backups/settings-part.ts'
import type { OperationDeps } from './operation-deps.ts'
import { passing } from './passing.ts'
import { told } from './take-backup.ts'

/** A backup that is put back; `settings` are null where they do not open here. */
export interface PutBack {
  readonly manifest: Manifest
  readonly settings: BackedUpSettings | null
}

/** In place of what the project has. Done twice it is the same as done once. Nothing of the project may run that uses it. */
export async function putPart(
  row: ProjectRow,
  part: PartEntry,
  from: PutBack,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  if (part.id === settingsPart) return putSettingsBack(row, from, context, deps)
  if (part.id === filesPart) return putFiles(row, part, from, context, deps)
  const data = dataOfPart(part)
  if (data === null) throw new TypeError(`${part.id} is no part that can be put back`)
  await dropData(row.id, data, context, deps)
  await putData(row.id, part, from, context, deps)
}

/** Into a project that has no such data. Its secrets go with it: the data knows the passwords that it was made with. */
export async function putData(
  project: string,
  part: PartEntry,
  { manifest, settings }: PutBack,
  context: StepContext,
  { backups, engine, store }: OperationDeps,
): Promise<void> {
  const data = dataOfPart(part) ?? ''
  const archive = backups.folder.open(manifest.id, part.id, context.signal)
  await engine.writeData(project, data, passing(archive, told(context, 'put back')), context.signal)
  await store.transaction(async (tx) => {
    for (const name of secretsOfPart(part)) {
      const text = settings?.secrets[name]
      if (text !== undefined) await tx.secrets.put(project, name, text)
    }
    const kept = settings?.keptData.find((one) => one.name === data)
    if (kept !== undefined) await tx.keptData.writtenBy(project, data, kept.version)
    // It is as it was, also where it was empty: no seed fills it.
    await tx.seeds.set(project, data, 'done')
  })
}

/** The workload is forgotten with its data, so that its next start does all that a first one does; it is filled from its seed again. */
export async function dropData(
  project: string,
  data: string,
  { signal, output }: StepContext,
  { engine, reveal, observations, store }: OperationDeps,
): Promise<void> {
  // What it wrote of its changes leads to it, not to what comes in its place.
  await store.transaction((tx) => tx.archives.end(project, data, newId('arc')))
  const changes: readonly Change[] = [
    { type: 'remove', ref: { project, workload: data }, title: data, stop: { signal: 'SIGTERM', deadlineSeconds: 30 } },
    { type: 'deleteData', project, data },
  ]
  for (const step of engineSteps(engine, changes, reveal, () => observations.outdate(project)))
    await step.run({ signal, output })
  await store.transaction((tx) => tx.seeds.forget(project, data))
}

/** What stays in the folder of a project when its files are put back. */
export const keptFiles = (row: ProjectRow, settings: PutBack['settings']): readonly string[] => [
  ...(settings?.without ?? rebuildableOf(row)),
  ...localFolders,
]

async function putFiles(
  row: ProjectRow,
  part: PartEntry,
  { manifest, settings }: PutBack,
  context: StepContext,
  { backups, provision }: OperationDeps,
): Promise<void> {
  const { signal } = context
  const account = await provision(row.id, signal)
  await clearTree(account, row.path, { except: keptFiles(row, settings), signal })
  const archive = backups.folder.open(manifest.id, part.id, signal)
  await writeTree(account, row.path, passing(archive, told(context, 'put back')), signal)
}

async function putSettingsBack(
  row: ProjectRow,
  { settings }: PutBack,
  { output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  if (settings === null) throw new TypeError('settings that do not open cannot be put back')
  const now = (await deps.store.projects.find(row.id)) ?? row
  const reverted = revertSpec(now.spec, settings.spec)
  if (!reverted.ok) throw new TypeError('settings that do not fit were accepted')
  const left = await putSettings(now, reverted.spec, settings, deps.store)
  for (const text of left) output({ stream: 'stdout', text: `${text}\n` })
  await deps.network.renew(row.id)
  await deps.model.renew(row.id)
}
