import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { projectRef } from './find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from './finish-operation.ts'
import { addWaitOptions, projectArgument } from './options.ts'
import { planText } from './output/plan-text.ts'

interface LifecycleFlags extends WaitFlags {
  readonly workload?: string
  readonly newerImages?: boolean
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
  if (act.operation !== 'stopProject')
    command.option('--newer-images', 'take the newest builds of its images; without it each stays with the one it has')
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
  const about = {
    ...(flags.workload === undefined ? {} : { workload: flags.workload }),
    ...(flags.newerImages === true ? { newerImages: true } : {}),
  }
  const input = { params: { id }, ...(Object.keys(about).length === 0 ? {} : { body: about }) }

  if (flags.dryRun === true) {
    const plan = await client.plan(act.operation, input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }

  const operation = await client.call(act.operation, input, { signal: context.signal, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)

  const last = await finishOperation(context, operation, flags)
  if (context.json) return context.result(last, () => '')
  const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
  const what = flags.workload === undefined ? project.slug : `${project.slug}/${flags.workload}`
  context.note(`${context.noteStyle.colors.green('✔')} ${what} ${act.done}`)
  context.result(last, () => (act.showsUrl ? project.url : ''))
}
