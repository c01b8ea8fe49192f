import type { PartEntry } from '@stackquay/archive'
import { dataOfPart, filesPart } from '@stackquay/domain'
import type { StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { backupEvent } from '../backups/backup-event.ts'
import { openBackup } from '../backups/open-backup.ts'
import { settleCreation, startCreated } from './create.ts'
import { deadlines, findProject, type OperationDeps } from './operation-deps.ts'
import { type PutBack, putData } from './put-back.ts'
import type { Failures } from './reconcile-steps.ts'
import { checkSteps } from './restore-checks.ts'

/** What a restore into a new project was asked for. Its settings are written with the project itself. */
export interface RestoreAsInput {
  readonly creates: true
  readonly backup: string
  readonly parts: readonly string[]
  /** What could not be taken over, for people. */
  readonly warnings: readonly string[]
}

/** Fills a new project from a backup. What fails before it stands leaves nothing. */
export function restoreAs(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as RestoreAsInput
  const failures: Failures = []
  const { project } = operation
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () => ((await findProject(deps.store, project)).phase === 'ready' ? [] : checkSteps(project, input, deps)),
      async () => ((await findProject(deps.store, project)).phase === 'ready' ? [] : fillSteps(project, input, deps)),
      () => startCreated(operation, failures, deps),
    ],
    settle: (outcome) => settleCreation(project, outcome, failures, deps),
  }
}

async function fillSteps(project: string, input: RestoreAsInput, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const from = await openBackup(input.backup, input.parts, deps.backups)
  const data = from.manifest.parts.filter((part) => input.parts.includes(part.id) && dataOfPart(part) !== null)
  return [
    { id: 'source', title: 'Unpack the files', run: (context) => fillFiles(project, input, from, context, deps) },
    ...data.map(
      (part): WorkStep => ({
        id: `put:${part.id}`,
        title: `Put ${part.title} back`,
        run: (context) => fillData(project, part, from, context, deps),
      }),
    ),
    { id: 'ready', title: 'Finish the project', run: (context) => becomeReady(project, input, from, context, deps) },
  ]
}

async function fillFiles(
  project: string,
  { parts, backup }: RestoreAsInput,
  { manifest }: PutBack,
  { signal }: StepContext,
  { store, sources, backups }: OperationDeps,
): Promise<void> {
  const row = await findProject(store, project)
  const hasFiles = parts.includes(filesPart) && manifest.parts.some(({ id }) => id === filesPart)
  if (!hasFiles) return sources.empty(row)
  await sources.fromArchive(backups.folder.open(backup, filesPart, signal), row, signal)
}

/** What an earlier attempt has put there is whole. */
async function fillData(
  project: string,
  part: PartEntry,
  from: PutBack,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const there = await deps.engine.dataNames(project, context.signal)
  if (!there.includes(dataOfPart(part) ?? '')) await putData(project, part, from, context, deps)
}

async function becomeReady(
  project: string,
  { warnings }: RestoreAsInput,
  { manifest, settings }: PutBack,
  { output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  for (const text of warnings) output({ stream: 'stdout', text: `${text}\n` })
  const { store, model } = deps
  const row = await findProject(store, project)
  const data = await deps.engine.dataNames(project, AbortSignal.timeout(30_000))
  await store.transaction(async (tx) => {
    await tx.projects.carriedOut(project, row.generation, row.spec)
    await tx.projects.setLifecycle(project, { phase: 'ready' })
    for (const { name, version, keptAt } of settings?.keptData ?? []) {
      if (!data.includes(name)) continue
      await tx.keptData.writtenBy(project, name, version)
      if (keptAt !== null) await tx.keptData.setKept(project, name, true)
    }
    const { slug, generation } = row
    await tx.events.append({ type: 'project.changed', project, data: { id: project, slug, generation } })
    await tx.events.append(backupEvent('backup.restored', manifest))
  })
  await model.renew(project)
}
