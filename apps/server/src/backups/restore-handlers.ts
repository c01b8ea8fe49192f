import type { PartEntry } from '@stackquay/archive'
import { type Plan, ProblemError, Secret } from '@stackquay/contract'
import { dataOfPart, restoreBlockers, revertSpec, secretsOfPart, settingsPart } from '@stackquay/domain'
import { newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseErrors } from '../projects/prepare.ts'
import { requireSlug } from '../projects/require-confirmed.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { type BackupHandlerDeps, finders, planShown, refuseUnknownParts, refuseUnready } from './backup-handlers.ts'
import { type OpenedBackup, openBackup } from './open-backup.ts'
import { usersOfParts } from './project-parts.ts'

export function restoreHandlers(
  deps: BackupHandlerDeps,
  { find, holds, wait }: ProjectAnswers,
): Pick<Handlers, 'restoreBackup'> {
  const { ofProject } = finders(deps)
  return {
    restoreBackup: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const { manifest } = ofProject(row, params.backup)
      if (query.dryRun !== true) requireSlug(body.confirm, row, 'restore', context)
      holds(row, context)
      refuseUnknownParts(body.parts, manifest)
      const usual = manifest.parts.map(({ id }) => id).filter((id) => id !== settingsPart)
      const parts = body.parts ?? usual
      const opened = await openBackup(manifest.id, parts, deps.backups)
      refuseBlocked(row, opened, parts)
      if (query.dryRun === true) return { status: 200, body: await plan(row, opened, parts, deps) }
      const operation = await accept(row, { backup: manifest.id, parts, before: newId('bak') }, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

/** Everything that stands in the way, part by part, before anything is touched. */
function refuseBlocked(row: ProjectRow, { manifest, settings }: OpenedBackup, parts: readonly string[]): void {
  if (manifest.engine !== row.engine && parts.some((id) => id.includes(':')))
    throw new ProblemError(
      'engine_cannot',
      `The backup holds data of the engine "${manifest.engine}", and the project is on "${row.engine}".`,
      { hint: 'Restore its files alone.' },
    )
  const chosen = manifest.parts.filter(({ id }) => parts.includes(id))
  const reverted = parts.includes(settingsPart) && settings !== null ? revertSpec(row.spec, settings.spec) : null
  if (reverted?.ok === false)
    refuseErrors(reverted.errors.map((error) => ({ ...error, detail: `settings: ${error.detail}` })))
  refuseErrors(restoreBlockers(chosen, reverted?.ok === true ? reverted.spec : row.spec))
}

async function plan(
  row: ProjectRow,
  { manifest, settings }: OpenedBackup,
  parts: readonly string[],
  { engine, model, store }: BackupHandlerDeps,
): Promise<Plan> {
  const observed = await engine.observe(row.id, AbortSignal.timeout(30_000))
  const { kinds } = (model.find(row.id) ?? (await model.renew(row.id))).resolved
  const restarts = usersOfParts(row, parts, observed, kinds)
  const running = observed.filter(({ state }) => state === 'running').map(({ ref }) => ref.workload)
  const chosen = manifest.parts.filter(({ id }) => parts.includes(id))
  const there = await engine.dataNames(row.id, AbortSignal.timeout(30_000))
  const replaced = chosen.flatMap((part) => dataOfPart(part) ?? []).filter((name) => there.includes(name))
  const title = (text: string, workload: string | null = null) => ({ title: text, workload, because: [] })
  return planShown({
    steps: [
      title('Compare the backup with its checksums'),
      ...(restarts.length === 0 ? [] : [title(`Stop what uses it: ${restarts.join(', ')}`)]),
      title('Back up what is replaced'),
      ...chosen.map((part) => title(`Put ${part.title} back`, dataOfPart(part))),
      ...(restarts.length === 0 ? [] : [title('Start what ran')]),
    ],
    restarts: [...restarts],
    keepsRunning: running.filter((name) => !restarts.includes(name)),
    deletesData: replaced,
    warnings: await credentialWarnings(row, chosen, settings?.secrets ?? {}, store),
  })
}

/** The data knows the passwords that it was made with, so they are the project's again. */
async function credentialWarnings(
  { id }: ProjectRow,
  chosen: readonly PartEntry[],
  secrets: Readonly<Record<string, string>>,
  store: BackupHandlerDeps['store'],
): Promise<string[]> {
  const handles = await store.secrets.of(id)
  const warnings: string[] = []
  for (const part of chosen) {
    for (const name of secretsOfPart(part)) {
      const [text, handle] = [secrets[name], handles[name]]
      if (text === undefined || handle === undefined) continue
      if ((await store.secrets.reveal(handle.secret)).equals(new Secret(text))) continue
      warnings.push(`The credentials of ${part.title} become those of the backup again. Rotate them afterwards.`)
      break
    }
  }
  return warnings
}

async function accept(
  row: ProjectRow,
  input: { readonly backup: string; readonly parts: readonly string[]; readonly before: string },
  context: RequestContext,
  deps: BackupHandlerDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, input, 'restore', 'restore')
    await tx.audit.append(
      context.audit({
        action: 'backup.restore',
        target: `${row.slug}/${input.backup}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { parts: input.parts, before: input.before },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
