import {
  type Container,
  type DataMount,
  EngineError,
  revealValue,
  type SecretRef,
  type Value,
} from '@stackquay/engine-api'
import { expandData, variableText } from '../native/environment.ts'
import type { Daemon } from './daemon.ts'
import { accountOf } from './volumes.ts'

type Reveal = (ref: SecretRef) => Promise<string>
type Places = Pick<Container, 'data'>

/** The environment of the program beside that of its image, as `NAME=value`. */
export async function containerEnvironment(
  daemon: Daemon,
  project: string,
  env: Readonly<Record<string, Value>>,
  container: Pick<Container, 'data' | 'user'>,
  reveal: Reveal,
  data: readonly DataMount[] = [],
): Promise<string[]> {
  const all = new Map<string, string>()
  const home = homeFor(daemon, project, container.user)
  if (home !== null) all.set('HOME', home)
  for (const { name, envName } of data) {
    if (envName !== undefined) all.set(envName, placeOf(container, name))
  }
  for (const [name, value] of Object.entries(env)) {
    all.set(name, variableText(name, await revealValue(expandIn(container, value), reveal)))
  }
  return [...all].map(([name, text]) => `${name}=${text}`)
}

/** Our account has no entry in the images' lists of users: without this its home would be `/`, where it may not write. */
function homeFor(daemon: Daemon, project: string, user: string): string | null {
  return accountOf(daemon, project, user) === null ? null : '/tmp'
}

/** Puts the path of kept data inside the container where the text asks for it. Other names are ordinary text. */
export function expandText(container: Places, text: string): string {
  return expandData(text, (name) => (Object.hasOwn(container.data, name) ? (container.data[name] ?? null) : null))
}

/** Secrets are left alone: what they hold is never a placeholder. */
export function expandIn(container: Places, value: Value): Value {
  if (typeof value === 'string') return expandText(container, value)
  return value.map((part) => (typeof part === 'string' ? expandText(container, part) : part))
}

function placeOf(container: Places, name: string): string {
  const path = Object.hasOwn(container.data, name) ? container.data[name] : undefined
  if (path !== undefined) return path
  throw new EngineError('engine_cannot', `Nothing says where the data "${name}" stands inside the container.`, {
    hint: 'Name a path for it in the description of the container.',
  })
}
