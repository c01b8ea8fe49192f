import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { projectRef } from '../find-project.ts'
import { defineLifecycle, type LifecycleFlags, runLifecycle } from '../lifecycle.ts'
import { sleepText } from '../output/sleep-text.ts'

interface SleepFlags extends LifecycleFlags {
  readonly after?: string
  readonly hours?: string
  readonly timezone?: string
  readonly never?: boolean
}

const act = { operation: 'sleepProject', done: 'is asleep. A request wakes it', showsUrl: true } as const

/** Now; or with a setting, when it does so by itself. */
export const define: Define = (command, context) => {
  defineLifecycle(command, context, act)
    .option('--after <time>', 'set: sleep by itself when nobody used it for so long, such as 2h; "none" takes it away')
    .option('--hours <hours>', 'set: stay awake in these, such as "mon-fri 08:00-19:00"; "none" takes them away')
    .option('--timezone <zone>', 'set: what the hours are read by, such as Europe/Berlin')
    .option('--never', 'set: never sleep by itself')
    .action((project: string | undefined, flags: SleepFlags) => run(context(), project, flags))
}

async function run(context: Context, named: string | undefined, flags: SleepFlags): Promise<void> {
  const { after, hours, timezone, never } = flags
  const isSetting = [after, hours, timezone].some((flag) => flag !== undefined)
  if (never !== true && !isSetting) return runLifecycle(context, act, named, flags)
  if (never === true && isSetting) throw usageError('--never goes with no other setting.')
  const client = await context.client()
  const id = await projectRef(context, named)
  const sleep =
    never === true
      ? null
      : {
          ...(after === undefined ? {} : { after: orNone(after) }),
          ...(hours === undefined ? {} : { hours: orNone(hours) }),
          ...(timezone === undefined ? {} : { timezone }),
        }
  const project = await client.call('updateProject', { params: { id }, body: { sleep } }, { signal: context.signal })
  context.note(`${context.noteStyle.colors.green('✔')} ${project.slug} sleeps by itself: ${sleepText(project.sleep)}`)
  context.result(project, () => '')
}

function orNone(value: string): string | null {
  return value === 'none' ? null : value
}
