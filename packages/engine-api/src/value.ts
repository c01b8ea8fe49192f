/**
 * What a workload's environment, argument or standard input is made of. A secret appears only as a reference;
 * its text exists inside `Engine.apply` alone, obtained through `ApplyContext.reveal`.
 */
export type Value = string | readonly (string | SecretRef)[]

/** Names a secret of the instance. `version` changes with its text, so that a fingerprint notices a rotation. */
export interface SecretRef {
  readonly secret: string
  readonly version: number
  /** `url` percent-encodes the text, for use inside a URL. Default: as it is. */
  readonly encode?: 'url'
}

export function isSecretRef(part: unknown): part is SecretRef {
  return typeof part === 'object' && part !== null && 'secret' in part
}

export function hasSecret(value: Value): boolean {
  return typeof value !== 'string' && value.some(isSecretRef)
}

/** The text of a value. `reveal` answers the text of one secret; bytes are passed on unchanged. */
export async function revealValue(value: Value, reveal: (ref: SecretRef) => Promise<string>): Promise<string> {
  if (typeof value === 'string') return value
  const parts = await Promise.all(
    value.map(async (part) => {
      if (!isSecretRef(part)) return part
      const text = await reveal(part)
      return part.encode === 'url' ? encodeURIComponent(text) : text
    }),
  )
  return parts.join('')
}
