import { goalOf, touchedBy } from '@stackquay/domain'
import { ChangedError, type OperationRow, type ProjectRow, TakenError } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import { type Accepted, acceptAct, acceptQuietly, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { nameTaken, refuseReserved } from '../projects/handlers/names.ts'
import { planOf, standOf } from '../projects/plan.ts'
import type { Published } from '../projects/published.ts'
import { changed } from './domain-handlers.ts'

export interface RenameDeps extends ChangeDeps {
  readonly network: Network
  readonly published: Published
  readonly now: () => Date
}

const dayMs = 24 * 60 * 60 * 1000

/**
 * Another slug, and the addresses that come with it. Data, volumes, secrets and ports are kept by the id of the project, and its folder stays
 * where it is, so nothing moves. Programs that were told the address start again. Renamed back, everything is as it was.
 */
export function renameHandler(deps: RenameDeps, answers: ProjectAnswers): Pick<Handlers, 'renameProject'> {
  const { now, network, published } = deps
  return {
    renameProject: async ({ params, query, body }, context) => {
      const found = await answers.find(params.id)
      answers.holds(found, context)
      return answers.again(found, context, async (row) => {
        await refuseSlug(body.slug, row, deps)
        if (body.slug === row.slug) return answers.answerProject(row, null, undefined, context, 200)
        const proposed = await propose(row, body.slug, deps)
        if (query.dryRun === true) return { status: 200, body: proposed.plan }
        const until =
          body.redirectDays === 0 ? null : new Date(now().getTime() + body.redirectDays * dayMs).toISOString()
        const { renamed, accepted } = await write(row, { slug: body.slug, until, proposed }, context, deps)
        await network.renew(row.id)
        if (accepted !== null) begin(accepted, deps)
        await deps.model.renew(row.id)
        await published(row.id)
        return answers.answerProject(renamed, accepted?.operation ?? null, query.wait, context, 200)
      })
    },
  }
}

async function refuseSlug(slug: string, row: ProjectRow, { store }: RenameDeps): Promise<void> {
  refuseReserved(slug)
  const holder = await store.projects.find(slug)
  if (holder !== null && holder.id !== row.id) throw nameTaken(slug, holder, '/slug')
}

/** What the new addresses make different. */
async function propose(row: ProjectRow, slug: string, deps: RenameDeps) {
  const { resolver, engine } = deps
  const [before, resolved] = await Promise.all([resolver.resolve(row), resolver.resolve({ ...row, slug })])
  const { observed, after } = await standOf(row, before, deps)
  const touches = touchedBy(before.workloads, resolved.workloads)
  const request = { goal: goalOf(row.desired), before: before.workloads, touches }
  const fields = [{ field: 'slug', before: row.slug, after: slug }]
  return { ...planOf(engine, resolved, observed, request, { changes: fields, after }), touches, after }
}

async function write(
  row: ProjectRow,
  {
    slug,
    until,
    proposed: { changes, touches, after },
  }: {
    readonly slug: string
    readonly until: string | null
    readonly proposed: Awaited<ReturnType<typeof propose>>
  },
  context: RequestContext,
  { store }: RenameDeps,
): Promise<{ readonly renamed: ProjectRow; readonly accepted: Accepted | null }> {
  return store
    .transaction(async (tx) => {
      await refuseMoved(row, after)
      const renamed = await tx.projects.rename(row.id, row.slug, slug, until)
      const accepted = changes.length === 0 ? null : await acceptAct(tx, store, row, { do: 'update', touches }, context)
      if (accepted === null) await acceptQuietly(store, row, 'merge')
      await tx.audit.append(
        context.audit({
          action: 'project.rename',
          target: row.slug,
          project: row.id,
          changes: { before: { slug: row.slug }, after: { slug, redirectsUntil: until } },
          ...(accepted === null ? {} : { operationId: accepted.operation.id }),
        }),
      )
      await tx.events.append(changed(renamed))
      return { renamed, accepted }
    })
    .catch(async (error: unknown) => {
      if (error instanceof TakenError) throw nameTaken(slug, await store.projects.find(slug), '/slug')
      throw error
    })

  /** A start that was accepted since would tell programs the address of before. */
  async function refuseMoved({ id, desired }: ProjectRow, looked: readonly OperationRow[]): Promise<void> {
    const [now, unfinished] = await Promise.all([store.projects.find(id), store.operations.unfinishedOf(id)])
    const isSame =
      now?.desired === desired &&
      unfinished.length === looked.length &&
      unfinished.every((one, at) => one.id === looked[at]?.id)
    if (!isSame)
      throw new ChangedError(`Project ${id} is not in the state any more in which the new name was looked at.`)
  }
}
