import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { type EnvInput, type FieldError, type ProjectPatch, Secret } from '@stackquay/contract'
import { type EnvPatch, type ProjectSpec, type SecretHandle, serviceSecret, variableSecret } from '@stackquay/domain'
import { SecretError, type Store, type Transaction } from '@stackquay/store'
import type { z } from 'zod'

/** A patch with the texts of its secrets set aside: a specification only ever names them. */
export interface ExtractedSecrets {
  /** The patch; what is secret in the settings of services is a reference. */
  readonly patch: ProjectPatch
  readonly env: EnvPatch
  /** Name of a secret → text to seal when the change is written. */
  readonly texts: ReadonlyMap<string, Secret>
  /** Names of secrets that are not needed any more. */
  readonly dropped: readonly string[]
  /** What is wrong with what was sent; told together with what is wrong elsewhere in the same body. */
  readonly errors: readonly FieldError[]
}

/** Stands for a secret that is sealed only when the change is written. */
const pending: SecretHandle = { secret: 'pending', version: 0 }

type Reading = Pick<Store, 'secrets'>
interface Extraction {
  readonly texts: Map<string, Secret>
  readonly dropped: string[]
  readonly errors: FieldError[]
}

/**
 * What a person sent against what is there. A secret that is left out or null in a variable keeps its text, so that an
 * answer of GET can be sent back; the same text again is no change.
 */
export async function extractSecrets(
  spec: ProjectSpec,
  patch: ProjectPatch,
  store: Reading,
): Promise<ExtractedSecrets> {
  const extracted: Extraction = { texts: new Map(), dropped: [], errors: [] }
  const env = await variablesOf(spec, patch.env ?? {}, store, extracted)
  return { patch: await withoutServiceSecrets(spec, patch, store, extracted), env, ...extracted }
}

/** Seals what was set aside and answers the specification that names it. */
export async function sealSpec(
  tx: Transaction,
  project: string,
  spec: ProjectSpec,
  extracted: Pick<ExtractedSecrets, 'texts' | 'dropped'>,
): Promise<ProjectSpec> {
  const sealed = async (name: string) => {
    const text = extracted.texts.get(name)
    if (text === undefined) throw new Error(`the text of the secret ${name} was not extracted`)
    return tx.secrets.put(project, name, text.expose())
  }
  const env = new Map(Object.entries(spec.env))
  for (const [name, variable] of env) {
    if (variable.secret && isPending(variable.ref))
      env.set(name, { ...variable, ref: await sealed(variableSecret(name)) })
  }
  const services = { ...spec.services }
  for (const { kind, path, name } of serviceSecrets) {
    const settings = services[kind]
    if (settings !== undefined && isPending(at(settings, path)))
      services[kind] = put(settings, path, await sealed(name))
  }
  for (const name of extracted.dropped) await tx.secrets.drop(project, name)
  return { ...spec, env: Object.fromEntries(env), services }
}

/**
 * The specification from before, whose secrets that were replaced or dropped since are to be sealed anew: what is sealed by the name
 * now is another text. Throws `SecretError` for one that cannot be opened any more.
 */
export async function restoredSecrets(
  spec: ProjectSpec,
  now: ProjectSpec,
  store: Reading,
): Promise<{ readonly spec: ProjectSpec; readonly extracted: ExtractedSecrets }> {
  const handles = handlesOf(now)
  const before = handlesOf(spec)
  const texts = new Map<string, Secret>()
  for (const [name, handle] of before) {
    if (!isSameHandle(handle, handles.get(name)))
      texts.set(name, await store.secrets.reveal(handle.secret, handle.version))
  }
  const dropped = [...handles.keys()].filter((name) => !before.has(name))
  const restored = pendingWhere(spec, (name) => texts.has(name))
  return { spec: restored, extracted: { patch: {}, env: {}, texts, dropped, errors: [] } }
}

/** Secrets of variables and of services, by their names. */
function handlesOf(spec: ProjectSpec): ReadonlyMap<string, SecretHandle> {
  const handles = new Map<string, SecretHandle>()
  for (const [name, variable] of Object.entries(spec.env))
    if (variable.secret) handles.set(variableSecret(name), variable.ref)
  for (const { kind, path, name } of serviceSecrets) {
    const handle = at(spec.services[kind], path)
    if (isReference(handle)) handles.set(name, handle)
  }
  return handles
}

function isSameHandle(one: SecretHandle, other: SecretHandle | undefined): boolean {
  return one.secret === other?.secret && one.version === other.version
}

/** The specification for another project, whose secrets are still to be sealed there; names of them. */
export function withPendingSecrets(spec: ProjectSpec): {
  readonly spec: ProjectSpec
  readonly names: readonly string[]
} {
  return { spec: pendingWhere(spec, () => true), names: [...handlesOf(spec).keys()] }
}

/** The specification without what only secrets open: secret variables, and what is elsewhere. */
export function withoutSecretTexts(spec: ProjectSpec): ProjectSpec {
  const env = Object.fromEntries(Object.entries(spec.env).filter(([, variable]) => !variable.secret))
  const services = { ...spec.services }
  for (const { kind, path } of serviceSecrets) {
    const settings = services[kind]
    if (settings !== undefined && at(settings, [path[0]]) != null) services[kind] = { ...settings, [path[0]]: null }
  }
  return { ...spec, env, services }
}

/** That data knows: a copy of the data needs it. */
export function isSecretOfData(name: string): boolean {
  return /^(database|service)\//.test(name) && !serviceSecrets.some((one) => one.name === name)
}

/** The specification with those of its secrets still to be sealed. */
function pendingWhere(spec: ProjectSpec, isPendingNow: (name: string) => boolean): ProjectSpec {
  const env = Object.entries(spec.env).map(([name, variable]) => {
    const waits = variable.secret && isPendingNow(variableSecret(name))
    return [name, waits ? { ...variable, ref: pending } : variable] as const
  })
  const services = { ...spec.services }
  for (const { kind, path, name } of serviceSecrets) {
    const settings = services[kind]
    if (settings !== undefined && isReference(at(settings, path)) && isPendingNow(name))
      services[kind] = put(settings, path, pending)
  }
  return { ...spec, env: Object.fromEntries(env), services }
}

async function variablesOf(
  spec: ProjectSpec,
  sent: Readonly<Record<string, z.output<typeof EnvInput>>>,
  store: Reading,
  { texts, dropped, errors }: Extraction,
): Promise<EnvPatch> {
  const env = new Map<string, EnvPatch[string]>()
  for (const [name, input] of Object.entries(sent)) {
    const before = Object.hasOwn(spec.env, name) ? spec.env[name] : undefined
    if (input === null) {
      if (before === undefined) continue
      if (before.secret) dropped.push(variableSecret(name))
      env.set(name, null)
      continue
    }
    const {
      value = null,
      secret: sentSecret,
      runtimes: sentRuntimes,
    } = typeof input === 'string' ? { value: input } : input
    const secret = sentSecret ?? before?.secret ?? false
    const runtimes = sentRuntimes === undefined ? before?.runtimes : inCatalogueOrder(sentRuntimes)
    const receivers = runtimes === undefined ? {} : { runtimes }
    if (value?.includes('\0') === true) {
      errors.push({
        pointer: `/env/${name}`,
        code: 'invalid',
        detail: 'No program can receive a variable with a zero byte.',
      })
      continue
    }
    if (value === null && before === undefined) {
      errors.push({ pointer: `/env/${name}/value`, code: 'required', detail: `${name} is new and needs a value.` })
      continue
    }
    if (!secret) {
      if (value === null && before?.secret === true) {
        errors.push({
          pointer: `/env/${name}/value`,
          code: 'required',
          detail: `${name} is a secret; to make it readable send its value anew.`,
        })
        continue
      }
      if (before?.secret === true) dropped.push(variableSecret(name))
      env.set(name, { secret: false, value: value ?? (before as { value: string }).value, ...receivers })
      continue
    }
    const text = value ?? (before?.secret === false ? before.value : null)
    const isSame = before?.secret === true && (text === null || (await holds(store, before.ref, new Secret(text))))
    if (!isSame) texts.set(variableSecret(name), new Secret(text ?? ''))
    env.set(name, { secret: true, ref: isSame ? before.ref : pending, ...receivers })
  }
  return Object.fromEntries(env)
}

/** Undefined for all runtimes. */
function inCatalogueOrder(runtimes: readonly string[] | null): readonly string[] | undefined {
  if (runtimes === null) return undefined
  return runtimeTypes.map((kind) => kind.name).filter((name) => runtimes.includes(name))
}

type Path = readonly [string, ...string[]]
type Fields = Readonly<Record<string, unknown>>

/** Every place in the settings of services that holds a secret. */
const serviceSecrets = serviceTypes.flatMap((kind) =>
  kind.settings.secretFields.map((path) => ({
    kind: kind.name,
    path,
    name: serviceSecret(kind.name, path.join('.')),
  })),
)

async function withoutServiceSecrets(
  spec: ProjectSpec,
  patch: ProjectPatch,
  store: Reading,
  { texts, dropped }: Extraction,
): Promise<ProjectPatch> {
  const changed: Record<string, unknown> = { ...patch }
  for (const { kind, path, name } of serviceSecrets) {
    const sent = changed[kind]
    if (!isObject(sent)) continue
    const before = at(spec.services[kind], path)
    const value = at(sent, path)
    if (typeof value === 'string') {
      const text = new Secret(value)
      const isSame = isReference(before) && (await holds(store, before, text))
      if (!isSame) texts.set(name, text)
      changed[kind] = put(sent, path, isSame ? before : pending)
    } else if (isReference(before) && isTakenAway(sent, path)) {
      dropped.push(name)
    }
  }
  return changed as ProjectPatch
}

async function holds(store: Reading, ref: SecretHandle, text: Secret): Promise<boolean> {
  try {
    return (await store.secrets.reveal(ref.secret)).equals(text)
  } catch (error) {
    // One that cannot be opened any more can still be set anew.
    if (error instanceof SecretError) return false
    throw error
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value)
}

/** Null stands at the place, or at one that holds it. */
function isTakenAway(sent: Fields, path: Path): boolean {
  return path.some((_key, index) => at(sent, path.slice(0, index + 1)) === null)
}

function put<T extends Fields>(value: T, [key, ...rest]: Path, leaf: unknown): T {
  const [next, ...more] = rest
  return { ...value, [key]: next === undefined ? leaf : put((value[key] ?? {}) as Fields, [next, ...more], leaf) }
}

function isPending(value: unknown): boolean {
  return isReference(value) && value.secret === pending.secret
}

function isReference(value: unknown): value is SecretHandle {
  return isObject(value) && typeof value.secret === 'string'
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
