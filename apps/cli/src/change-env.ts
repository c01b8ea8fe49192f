import type { Command } from 'commander'
import type { Context } from './context.ts'
import { usageError } from './errors.ts'
import { finishProject, type WaitFlags } from './finish-operation.ts'
import { addWaitOptions } from './options.ts'
import { planText } from './output/plan-text.ts'

export interface ChangeFlags extends WaitFlags {
  readonly dryRun?: boolean
}

/** Null removes the variable. */
export type EnvChange = { readonly value: string; readonly secret?: boolean } | null

export function addChangeOptions(command: Command): Command {
  return addWaitOptions(command.option('--dry-run', 'show the steps and do nothing'))
}

/** All variables in one change, so that what runs is restarted once. */
export async function changeEnv(
  context: Context,
  id: string,
  env: Record<string, EnvChange>,
  flags: ChangeFlags,
): Promise<void> {
  const client = await context.client()
  const input = { params: { id }, body: { env } }
  if (flags.dryRun === true) {
    const plan = await client.plan('updateProject', input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  const project = await client.call('updateProject', input, { signal: context.signal })
  await finishProject(context, project, flags)
  const names = Object.keys(env)
  const done = Object.values(env).every((variable) => variable === null) ? 'removed' : 'set'
  context.note(
    `${context.noteStyle.colors.green('✔')} ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} ${done}`,
  )
  if (context.json) context.result({ project: project.slug, changed: names }, () => '')
}

export function variableName(text: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text)) return text
  const hint = 'Letters, digits and underscores, not beginning with a digit: NAME=value'
  throw usageError(`"${text}" is not a name for a variable.`, hint)
}
