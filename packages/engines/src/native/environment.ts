import {
  type DataMount,
  EngineError,
  revealValue,
  type SecretRef,
  type Value,
  type WorkloadRef,
} from '@stackquay/engine-api'
import { type Account, userName } from './account.ts'
import { dataDir, makeDataDir, makeHomeDir } from './home.ts'
import type { Machine } from './machine.ts'
import { DEFAULT_PATH } from './path.ts'
import { RUN_MARKER } from './process-table.ts'

export interface ProcessSpec {
  readonly env: Readonly<Record<string, Value>>
  /** Kept data that values may name; left out for jobs, which may name any of the project's. */
  readonly data?: readonly DataMount[]
  readonly marker: string
}

/**
 * The whole environment of a process: a small base, then what the workload says. Of the server's own
 * environment only what `NetworkEnvironment` names gets through. Values are passed to the kernel as they are, never through a shell.
 */
export async function processEnvironment(
  machine: Machine,
  ref: WorkloadRef,
  account: Account | null,
  spec: ProcessSpec,
  reveal: (ref: SecretRef) => Promise<string>,
): Promise<Record<string, string>> {
  const { home, tmp } = await makeHomeDir(machine.home, account, ref.project)
  const { certificates, registries } = machine.network
  const env: Record<string, string> = {
    ...certificates,
    ...(spec.data === undefined ? registries : {}),
    PATH: DEFAULT_PATH,
    HOME: home,
    TMPDIR: tmp,
    LANG: 'C.UTF-8',
  }
  const name = account?.name ?? (await userName(account?.uid ?? process.getuid?.() ?? -1))
  if (name !== null) Object.assign(env, { USER: name, LOGNAME: name })
  const names = spec.data?.map((mount) => mount.name)
  for (const mount of spec.data ?? []) {
    if (mount.envName !== undefined) env[mount.envName] = dataDir(machine.home, ref.project, mount.name)
  }
  for (const [name, value] of Object.entries(spec.env)) {
    env[name] = variableText(name, await revealValue(expandValue(machine, ref.project, value, names), reveal))
  }
  env[RUN_MARKER] = spec.marker
  return env
}

const DATA = /\{data:([A-Za-z0-9_-]+)\}/g

/** Puts the absolute path of kept data where the text asks for it. With `names`, other names are ordinary text. */
export function expand(machine: Machine, project: string, text: string, names?: readonly string[]): string {
  return expandData(text, (name) =>
    names === undefined || names.includes(name) ? dataDir(machine.home, project, name) : null,
  )
}

/** The same with any places; null leaves the text as it is. */
export function expandData(text: string, placeOf: (name: string) => string | null): string {
  return text.replace(DATA, (all, name: string) => placeOf(name) ?? all)
}

/** Secrets are left alone: what they hold is never a placeholder. */
export function expandValue(machine: Machine, project: string, value: Value, names?: readonly string[]): Value {
  if (typeof value === 'string') return expand(machine, project, value, names)
  return value.map((part) => (typeof part === 'string' ? expand(machine, project, part, names) : part))
}

/** Makes the data directories a workload or job speaks of. */
export async function makeMentionedData(machine: Machine, project: string, names: Iterable<string>): Promise<void> {
  const wanted = new Set(names)
  if (wanted.size === 0) return
  const account = await machine.accounts.of(project)
  for (const name of wanted) await makeDataDir(machine.home, account, project, name)
}

export function mentionedData(values: readonly Value[]): string[] {
  const texts = values.flatMap((value) =>
    typeof value === 'string' ? [value] : value.filter((part) => typeof part === 'string'),
  )
  return texts.flatMap((text) => [...text.matchAll(DATA)].map((match) => match[1] ?? ''))
}

/** The value as a process can be given it, byte for byte. */
export function variableText(name: string, text: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw badVariable(name, 'Its name may hold letters, digits and "_", and must not begin with a digit.')
  if (text.includes('\0')) throw badVariable(name, 'Its value holds a NUL character, which no process can be given.')
  return text
}

function badVariable(name: string, why: string): EngineError {
  return new EngineError(
    'engine_cannot',
    `The environment variable ${JSON.stringify(name)} cannot be passed to a program.`,
    { hint: why },
  )
}
