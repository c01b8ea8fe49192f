import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Context } from './context.ts'
import { projectRef } from './find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from './finish-operation.ts'
import { addWaitOptions, projectArgument } from './options.ts'
import { planText } from './output/plan-text.ts'

export interface LifecycleFlags extends WaitFlags {
  readonly workload?: string
  readonly newerImages?: boolean
  readonly dryRun?: boolean
}

export interface LifecycleAct {
  readonly operation: 'startProject' | 'stopProject' | 'restartProject' | 'sleepProject'
  /** `shop is running`, after it ended well. */
  readonly done: string
  readonly showsUrl: boolean
}

/** Start, stop, restart and sleep are one command in four words. */
export function defineLifecycle(command: Command, context: () => Context, act: LifecycleAct): Command {
  command.argument('[project]', projectArgument).option('--dry-run', 'show the steps and do nothing')
  if (act.operation !== 'sleepProject') command.option('-w, --workload <name>', 'only this workload')
  if (act.operation === 'startProject' || act.operation === 'restartProject')
    command.option('--newer-images', 'take the newest builds of its images; without it each stays with the one it has')
  return addWaitOptions(command).action((project: string | undefined, flags: LifecycleFlags) =>
    runLifecycle(context(), act, project, flags),
  )
}

export async function runLifecycle(
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

  const { operation: wanted } = act
  const { signal } = context
  if (flags.dryRun === true) {
    const plan =
      wanted === 'sleepProject'
        ? await client.plan(wanted, { params: { id } }, { signal })
        : await client.plan(wanted, input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }

  const once = { signal, idempotencyKey: randomUUID() }
  const operation =
    wanted === 'sleepProject'
      ? await client.call(wanted, { params: { id } }, once)
      : await client.call(wanted, input, once)
  if (flags.wait === false) return takenOn(context, operation)

  const last = await finishOperation(context, operation, flags)
  if (context.json) return context.result(last, () => '')
  const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
  const what = flags.workload === undefined ? project.slug : `${project.slug}/${flags.workload}`
  context.note(`${context.noteStyle.colors.green('✔')} ${what} ${act.done}`)
  context.result(last, () => (act.showsUrl ? project.url : ''))
}
