import { randomUUID } from 'node:crypto'
import type { ImageBuildView, WorkloadImages } from '@stackquay/contract'
import { noteDone } from '../change-project.ts'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { projectRef } from '../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../options.ts'
import { plainText } from '../output/plain-text.ts'
import { planText } from '../output/plan-text.ts'
import { table } from '../output/table.ts'
import { ago } from '../output/time.ts'

interface ImageFlags extends WaitFlags {
  readonly use?: string
  readonly dryRun?: boolean
}

export const define: Define = (command, context) => {
  command
    .argument('[project]', projectArgument)
    .argument('[workload]', 'with --use: which one')
    .option('--use <build>', 'run it from another build of its image: previous or latest')
    .option('--dry-run', 'with --use: show the steps and do nothing')
    .addHelpText(
      'after',
      `
  stq images shop                                list the builds of its images
  stq images shop postgresql-main --use previous   go back to the build before, and stay with it
  stq images shop postgresql-main --use latest     take what its registry has now

A rollback changes the program and never the data: a database may refuse data that a newer build wrote.`,
    )
  addWaitOptions(command).action((project: string | undefined, workload: string | undefined, flags: ImageFlags) =>
    flags.use === undefined ? list(context(), project, workload) : use(context(), project, workload, flags),
  )
}

async function list(context: Context, named: string | undefined, workload: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const answer = await client.call('listImages', { params: { id } }, { signal: context.signal })
  const items = answer.items.filter((item) => workload === undefined || item.workload === workload)
  context.result({ items }, () => {
    if (context.quiet) return items.map((item) => item.reference).join('\n')
    if (items.length === 0) return 'Nothing of it runs from an image.'
    return table(
      ['WORKLOAD', 'IMAGE', 'BUILD', 'SINCE', 'BEFORE', 'STAYS'],
      items.map((item) => row(item, context)),
      context.style,
    )
  })
}

function row({ workload, reference, current, previous, pinned }: WorkloadImages, { world }: Context): string[] {
  return [
    plainText(workload),
    plainText(reference),
    buildText(current),
    current === null ? '-' : ago(current.since, world.now()),
    buildText(previous),
    pinned ? 'yes' : 'no',
  ]
}

/** As Docker shows it: enough to tell one from another. */
function buildText(build: ImageBuildView | null): string {
  return build === null ? '-' : plainText(build.id.replace(/^sha256:/, '').slice(0, 12))
}

async function use(
  context: Context,
  named: string | undefined,
  workload: string | undefined,
  flags: ImageFlags,
): Promise<void> {
  const build = flags.use
  if (build !== 'previous' && build !== 'latest') throw usageError('--use takes "previous" or "latest".')
  if (named === undefined || workload === undefined)
    throw usageError('Which workload?', `stq images <project> <workload> --use ${build}`)
  const client = await context.client()
  const input = { params: { id: named }, body: { workload, use: build } } as const
  if (flags.dryRun === true) {
    const plan = await client.plan('useImage', input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  const operation = await client.call('useImage', input, { signal: context.signal, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  noteDone(context, `${named}/${workload} runs from the ${build} build`)
  if (context.json) context.result(last, () => '')
}
