import { type ImageBuildView, ProblemError, type WorkloadImages } from '@stackquay/contract'
import type { PlanRequest } from '@stackquay/domain'
import type { Workload } from '@stackquay/engine-api'
import type { ImageUse, ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { type Accepted, acceptAct, begin } from './accept.ts'
import type { ProjectAnswers } from './answers.ts'
import type { ChangeDeps } from './change-project.ts'
import { requireImages } from './engine-choice.ts'
import { pinOf, referenceOf } from './images.ts'
import { planOf, standOf } from './plan.ts'
import { refuseErrors } from './prepare.ts'
import { isEnded, operationView } from './view.ts'

export function imageHandlers(
  deps: ChangeDeps,
  { find, wait }: ProjectAnswers,
): Pick<Handlers, 'listImages' | 'useImage'> {
  const { store, model, engine, engines } = deps

  const imagesOf = async (row: ProjectRow, workloads: readonly Workload[]): Promise<readonly WorkloadImages[]> => {
    const [uses, pins] = await Promise.all([store.images.uses(row.id), store.images.pins(row.id)])
    const observed = deps.observations.of(row.id)
    return workloads.flatMap((workload) => {
      const { container } = workload.run
      if (container === undefined) return []
      const name = workload.ref.workload
      const reference = referenceOf(name, { reference: container.image, id: container.image }, pins, uses)
      const named = reference ?? container.image
      const own = uses.filter((use) => use.workload === name && use.reference === named)
      const running = observed.find((one) => one.ref.workload === name && one.state === 'running')?.image?.id
      const current = own.find(({ image }) => image === running) ?? own[0]
      const previous = own.find(({ image }) => image !== current?.image)
      return [
        {
          workload: name,
          title: workload.title,
          reference: named,
          pinned: pinOf(pins, name, named) !== undefined,
          current: current === undefined ? null : buildView(current),
          previous: previous === undefined ? null : buildView(previous),
        },
      ]
    })
  }

  return {
    listImages: async ({ params }) => {
      const row = await find(params.id)
      const { resolved } = model.find(row.id) ?? (await model.renew(row.id))
      return { status: 200, body: { items: [...(await imagesOf(row, resolved.workloads))] } }
    },

    useImage: async ({ params, query, body: { workload, use } }, context) => {
      const row = await find(params.id)
      requireImages(row.engine, engines, '/use')
      const { resolved } = await model.renew(row.id)
      refuseErrors(resolved.errors)
      const images = await imagesOf(row, resolved.workloads)
      const image = images.find((one) => one.workload === workload) ?? refuseUnknown(workload, images)
      const before = pinOf(await store.images.pins(row.id), workload, image.reference)?.image ?? null
      const after = use === 'previous' ? previousOf(image) : null

      if (query.dryRun === true) {
        const { observed, after: behind } = await standOf(row, resolved, deps)
        const wanted = resolved.workloads.map((one) =>
          one.ref.workload === workload ? fromImage(one, after ?? image.reference) : one,
        )
        const request: PlanRequestOf = { goal: 'running', restart: true, only: workload, newerImages: after === null }
        return {
          status: 200,
          body: planOf(engine, { ...resolved, workloads: wanted }, observed, request, { after: behind }).plan,
        }
      }
      const choice = { workload, use, reference: image.reference, before, after }
      const accepted = await accept(row, choice, context, deps)
      try {
        await model.renew(row.id)
      } finally {
        begin(accepted, deps)
      }
      const ended = await wait(accepted.operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

interface Choice {
  readonly workload: string
  readonly use: 'previous' | 'latest'
  readonly reference: string
  /** The build that was chosen before, and the one that is now; null: whatever the reference leads to. */
  readonly before: string | null
  readonly after: string | null
}

/** The choice, the operation that carries it out and the audit entry in one transaction. */
function accept(
  row: ProjectRow,
  { workload, use, reference, before, after }: Choice,
  context: RequestContext,
  { store }: ChangeDeps,
): Promise<Accepted> {
  return store.transaction(async (tx) => {
    const unpinned = [{ workload, reference, image: before }]
    const newer = after === null ? { newerImages: true } : {}
    const accepted = await acceptAct(tx, store, row, { do: 'restart', workload, ...newer, unpinned }, context)
    if (after === null) await tx.images.unpin(row.id, workload, reference)
    else await tx.images.pin(row.id, { workload, reference, image: after })
    await tx.projects.setLifecycle(row.id, { desired: 'running' })
    await tx.audit.append(
      context.audit({
        action: 'project.image',
        target: row.slug,
        project: row.id,
        operationId: accepted.operation.id,
        changes: { workload, use, reference, build: after },
      }),
    )
    return accepted
  })
}

type PlanRequestOf = Partial<PlanRequest> & Pick<PlanRequest, 'goal'>

function buildView({ reference, image, lastUsedAt }: ImageUse): ImageBuildView {
  return { id: image, digest: reference.split('@')[1] ?? null, since: lastUsedAt }
}

function previousOf({ workload, reference, previous }: WorkloadImages): string {
  if (previous !== null) return previous.id
  const detail = `No other build of ${reference} is known: "${workload}" had only one since it uses it.`
  throw new ProblemError('validation_failed', detail, {
    hint: 'Builds are remembered when a restart with newer images takes one.',
    errors: [{ pointer: '/use', code: 'no_previous', detail }],
  })
}

function refuseUnknown(workload: string, images: readonly WorkloadImages[]): never {
  const known = images.map((one) => one.workload).join(', ')
  const detail = `There is no workload "${workload}" that runs from an image; there is ${known === '' ? 'none' : known}.`
  throw new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/workload', code: 'unknown_workload', detail }],
  })
}

/** For a plan that is only shown: the workload as it would be. */
function fromImage(workload: Workload, image: string): Workload {
  const { run } = workload
  if (run.container === undefined) return workload
  return { ...workload, run: { ...run, container: { ...run.container, image, build: null } } }
}
