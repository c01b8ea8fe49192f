import { type ChangeFlags, changeProject, noteDone } from './change-project.ts'
import type { Context } from './context.ts'
import { usageError } from './errors.ts'

/** Null removes the variable; a value that is absent stays. */
export type EnvChange = {
  readonly value?: string
  readonly secret?: boolean
  readonly runtimes?: string[] | null
} | null

/** All variables in one change, so that what runs is restarted once. */
export async function changeEnv(
  context: Context,
  id: string,
  env: Record<string, EnvChange>,
  flags: ChangeFlags,
): Promise<void> {
  const project = await changeProject(context, 'updateProject', { params: { id }, body: { env } }, flags)
  if (project === null) return
  const names = Object.keys(env)
  const done = Object.values(env).every((variable) => variable === null) ? 'removed' : 'set'
  noteDone(context, `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} ${done}`)
  if (context.json) context.result({ project: project.slug, changed: names }, () => '')
}

export function variableName(text: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text)) return text
  const hint = 'Letters, digits and underscores, not beginning with a digit: NAME=value'
  throw usageError(`"${text}" is not a name for a variable.`, hint)
}
