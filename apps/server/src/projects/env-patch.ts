import { type EnvInput, type FieldError, Secret } from '@stackquay/contract'
import { type EnvPatch, type ProjectSpec, variableSecret } from '@stackquay/domain'
import type { Store, Transaction } from '@stackquay/store'
import type { z } from 'zod'

/** An environment patch with the texts of secrets set aside: the specification only ever names them. */
export interface SetAside {
  readonly env: EnvPatch
  /** Variable → text to seal when the change is written. */
  readonly texts: ReadonlyMap<string, Secret>
  /** Variables whose sealed text is not needed any more. */
  readonly dropped: readonly string[]
  /** What is wrong with what was sent; told together with what is wrong elsewhere in the same body. */
  readonly errors: readonly FieldError[]
}

/** Stands for a secret that is sealed only when the change is written. */
const pending = { secret: 'pending', version: 0 } as const

/**
 * What a person sent for each variable against what is there. A value that is left out or null keeps a secret's text, so
 * that an answer of GET can be sent back; the same text again is no change.
 */
export async function setSecretsAside(
  spec: ProjectSpec,
  sent: Readonly<Record<string, z.output<typeof EnvInput>>>,
  store: Pick<Store, 'secrets'>,
): Promise<SetAside> {
  const env = new Map<string, EnvPatch[string]>()
  const texts = new Map<string, Secret>()
  const dropped: string[] = []
  const errors: FieldError[] = []

  for (const [name, input] of Object.entries(sent)) {
    const before = Object.hasOwn(spec.env, name) ? spec.env[name] : undefined
    if (input === null) {
      if (before === undefined) continue
      if (before.secret) dropped.push(name)
      env.set(name, null)
      continue
    }
    const value = typeof input === 'string' ? input : (input.value ?? null)
    const secret = (typeof input === 'string' ? undefined : input.secret) ?? before?.secret ?? false
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
      if (before?.secret === true) dropped.push(name)
      env.set(name, { secret: false, value: value ?? (before as { value: string }).value })
      continue
    }
    const text = value ?? (before?.secret === false ? before.value : null)
    if (text === null) continue
    const secretText = new Secret(text)
    if (before?.secret === true && (await store.secrets.reveal(before.ref.secret)).equals(secretText)) continue
    texts.set(name, secretText)
    env.set(name, { secret: true, ref: pending })
  }
  return { env: Object.fromEntries(env), texts, dropped, errors }
}

/** Seals what was set aside and answers the specification that names it. */
export async function sealEnv(
  tx: Transaction,
  project: string,
  spec: ProjectSpec,
  aside: Pick<SetAside, 'texts' | 'dropped'>,
): Promise<ProjectSpec> {
  const env = new Map(Object.entries(spec.env))
  for (const [name, text] of aside.texts)
    env.set(name, { secret: true, ref: await tx.secrets.put(project, variableSecret(name), text.expose()) })
  for (const name of aside.dropped) await tx.secrets.delete(project, variableSecret(name))
  return { ...spec, env: Object.fromEntries(env) }
}
