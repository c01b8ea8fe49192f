import {
  type FieldError,
  type Hook,
  type HookName,
  type Hooks,
  hookNames,
  type ProjectPatch,
} from '@stackquay/contract'
import type { ProjectSpec } from './spec.ts'

/** How long a hook may take whose settings do not say. */
const defaultSeconds = 300

/** A hook, ready to be run. */
export interface HookCommand {
  readonly name: HookName
  readonly argv: readonly string[]
  readonly timeoutSeconds: number
  /** Name of the runtime in whose environment it runs; undefined: the first. */
  readonly runtime: string | undefined
}

/** Pure. The settings of a project after a patch, with the hooks that it sends in place of those that were called like them. */
export function mergeHooks(spec: ProjectSpec, { hooks: sent }: ProjectPatch, errors: FieldError[]): ProjectSpec {
  if (sent === undefined) return spec
  const { hooks: before = {}, ...rest } = spec
  if (sent === null) return rest
  const next = hookNames.flatMap((name): [HookName, Hook][] => {
    const hook = sent[name] === undefined ? before[name] : sent[name]
    if (hook == null) return []
    if (sent[name] != null) errors.push(...hookFaults(`/hooks/${name}`, hook))
    return [[name, withoutAbsent(hook)]]
  })
  return next.length === 0 ? rest : { ...rest, hooks: Object.fromEntries(next) as Hooks }
}

function withoutAbsent(hook: Hook): Hook {
  return Object.fromEntries(Object.entries(hook).filter(([, value]) => value !== undefined)) as Hook
}

function hookFaults(pointer: string, { command }: Hook): readonly FieldError[] {
  const detail =
    command[0]?.trim() === ''
      ? 'The first word is the program, and it is empty.'
      : command.some((word) => word.includes('\0'))
        ? 'A program and its arguments cannot hold zero bytes.'
        : null
  return detail === null ? [] : [{ pointer: `${pointer}/command`, code: 'invalid', detail }]
}

/** Pure. Null where the project has none of this name. */
export function hookOf({ hooks }: Pick<ProjectSpec, 'hooks'>, name: HookName): HookCommand | null {
  const hook = hooks?.[name]
  if (hook === undefined) return null
  const { command, timeoutSeconds = defaultSeconds, runtime } = hook
  return { name, argv: command, timeoutSeconds, runtime }
}

/** Pure. As a step of an operation is called. */
export function hookTitle({ name, argv }: HookCommand): string {
  const line = argv.join(' ')
  return `Run the hook ${name}: ${line.length > 80 ? `${line.slice(0, 79)}…` : line}`
}
