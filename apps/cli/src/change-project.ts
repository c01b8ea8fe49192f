import { randomUUID } from 'node:crypto'
import { routes } from '@stackquay/client/routes'
import type { CallInput, Plan, ProjectView } from '@stackquay/contract'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { finishProject, type WaitFlags } from './finish-operation.ts'
import { addWaitOptions } from './options.ts'
import { planText } from './output/plan-text.ts'

export interface ChangeFlags extends WaitFlags {
  readonly dryRun?: boolean
}

/** Operations that change a project and answer it. */
type ProjectChange =
  | 'updateProject'
  | 'renameProject'
  | 'applyManifest'
  | 'applySettings'
  | 'revertSettings'
  | 'createDatabase'
  | 'updateDatabase'
  | 'deleteDatabase'
  | 'rotateDatabaseCredentials'
  | 'rotateServiceCredentials'
  | 'rotateAddonCredentials'
  | 'deleteKeptData'
  | 'deleteWorker'
  | 'deleteCronJob'

export function addChangeOptions(command: Command): Command {
  return addWaitOptions(command.option('--dry-run', 'show the changes and the steps, and do nothing'))
}

/**
 * Makes a change and waits for its end; answers the project, or null when only the plan was asked for, which is then the
 * result of the command. `agree` sees the plan before anything is done, and throws when that is not wanted.
 */
export async function changeProject<Id extends ProjectChange>(
  context: Context,
  id: Id,
  input: CallInput<Id>,
  flags: ChangeFlags,
  agree?: (plan: Plan) => Promise<void>,
): Promise<ProjectView | null> {
  const client = await context.client()
  if (flags.dryRun === true || agree !== undefined) {
    const plan = await client.plan(id, input, { signal: context.signal })
    if (flags.dryRun === true) {
      context.result(plan, () => planText(plan, context.style.colors))
      return null
    }
    context.note(planText(plan, context.noteStyle.colors))
    await agree?.(plan)
  }
  const key = routes[id].method === 'POST' ? { idempotencyKey: randomUUID() } : {}
  const changed = (await client.call(id, input, { signal: context.signal, ...key })) as ProjectView
  await finishProject(context, changed, flags)
  return changed
}

/** For a person: what is done. */
export function noteDone(context: Context, text: string): void {
  context.note(`${context.noteStyle.colors.green('✔')} ${text}`)
}
