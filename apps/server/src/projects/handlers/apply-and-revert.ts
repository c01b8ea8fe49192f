import { ProblemError } from '@stackquay/contract'
import { goalOf, revertSpec } from '@stackquay/domain'
import { type ProjectRow, SecretError } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { acceptAct, begin } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import { proposeSpec, writeChange } from '../change-project.ts'
import { restoredSecrets } from '../extract-secrets.ts'
import { planOf, standOf } from '../plan.ts'
import { refuseErrors } from '../prepare.ts'
import type { ProjectsDeps } from './deps.ts'

/** What becomes of settings that were written and not carried out: they are, or they are given up. */
export function applyAndRevertHandlers(
  deps: ProjectsDeps,
  answers: ProjectAnswers,
): Pick<Handlers, 'applySettings' | 'revertSettings'> {
  return {
    applySettings: async ({ params, query }, context) => {
      const row = await notApplied(params.id, context, answers)
      const { resolved } = await deps.model.renew(row.id)
      refuseErrors(resolved.errors)
      if (query.dryRun === true) {
        const { observed, after } = await standOf(row, resolved, deps)
        return {
          status: 200,
          body: planOf(deps.engine, resolved, observed, { goal: goalOf(row.desired) }, { after }).plan,
        }
      }
      const operation = await apply(row, context, deps)
      return answers.answerProject(row, operation, query.wait, context, 200)
    },
    revertSettings: async ({ params, query }, context) =>
      answers.again(await notApplied(params.id, context, answers), context, async (row) => {
        requireNotApplied(row)
        const proposed = await proposeRevert(row, query.dryRun === true, deps)
        if (query.dryRun === true) return { status: 200, body: proposed.plan }
        const operation = await writeChange(proposed, context, 'project.revert', deps)
        return answers.answerProject(row, operation, query.wait, context, 200)
      }),
  }
}

async function notApplied(id: string, context: RequestContext, { find, holds }: ProjectAnswers): Promise<ProjectRow> {
  const row = await find(id)
  holds(row, context)
  requireNotApplied(row)
  return row
}

function requireNotApplied(row: ProjectRow): void {
  if (row.phase === 'ready' && row.observedGeneration < row.generation) return
  throw new ProblemError('nothing_to_apply', `The newest settings of "${row.slug}" are applied already.`)
}

/** Carried out like a change that touches whatever is not as it is wanted. */
async function apply(row: ProjectRow, context: RequestContext, deps: ProjectsDeps) {
  const accepted = await deps.store.transaction(async (tx) => {
    const accepted = await acceptAct(tx, deps.store, row, { do: 'update' }, context)
    const about = { target: row.slug, project: row.id, operationId: accepted.operation.id }
    await tx.audit.append(context.audit({ action: 'project.apply', ...about, changes: null }))
    return accepted
  })
  deps.resolver.handOver(row.id, 1)
  begin(accepted, deps)
  return accepted.operation
}

async function proposeRevert(row: ProjectRow, isShown: boolean, deps: ProjectsDeps) {
  if (row.heldSpec === null) throw new ProblemError('cannot_revert', `No settings of "${row.slug}" were ever applied.`)
  const reverted = revertSpec(row.spec, row.heldSpec)
  if (!reverted.ok)
    throw new ProblemError('cannot_revert', 'Going back would leave data behind.', {
      hint: reverted.errors.map(({ detail }) => detail).join(' '),
      errors: reverted.errors,
    })
  const { spec, extracted } = await restoredSecrets(reverted.spec, row.spec, deps.store).catch((error: unknown) => {
    if (!(error instanceof SecretError)) throw error
    throw new ProblemError('cannot_revert', `A secret of the settings from before cannot be opened: ${error.message}`, {
      hint: 'Set it anew and apply the settings.',
    })
  })
  const removal = { deleteData: [], deleteSecrets: [], releasePorts: [] }
  return proposeSpec(row, { spec, extracted, removal, versions: [], look: null, goesBack: true, isShown }, deps)
}
