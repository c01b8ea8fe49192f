import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { projectRef } from './find-project.ts'
import { finishOperation, type WaitFlags } from './finish-operation.ts'
import { addWaitOptions, projectArgument } from './options.ts'
import { planText } from './output/plan-text.ts'

interface LifecycleFlags extends WaitFlags {
  readonly workload?: string
  readonly dryRun?: boolean
}

export interface LifecycleAct {
  readonly operation: 'startProject' | 'stopProject' | 'restartProject'
  /** `shop is running`, after it ended well. */
  readonly done: string
  readonly showsUrl: boolean
}

/** Start, stop and restart are one command in three words. */
export function defineLifecycle(command: Command, context: () => Context, act: LifecycleAct): void {
  command
    .argument('[project]', projectArgument)
    .option('-w, --workload <name>', 'only this workload')
    .option('--dry-run', 'show the steps and do nothing')
  addWaitOptions(command).action((project: string | undefined, flags: LifecycleFlags) =>
    run(context(), act, project, flags),
  )
}

async function run(
  context: Context,
  act: LifecycleAct,
  named: string | undefined,
  flags: LifecycleFlags,
): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const input = { params: { id }, ...(flags.workload === undefined ? {} : { body: { workload: flags.workload } }) }

  if (flags.dryRun === true) {
    const plan = await client.plan(act.operation, input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }

  const operation = await client.call(act.operation, input, { signal: context.signal, idempotencyKey: randomUUID() })
  if (flags.wait === false)
    return context.result(operation, () =>
      context.quiet ? operation.id : `The service has taken it on: ${operation.id}`,
    )

  const last = await finishOperation(context, operation, flags)
  if (context.json) return context.result(last, () => '')
  const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
  const what = flags.workload === undefined ? project.slug : `${project.slug}/${flags.workload}`
  context.note(`${context.noteStyle.colors.green('✔')} ${what} ${act.done}`)
  context.result(last, () => (act.showsUrl ? project.url : ''))
}
