import { revealValue, type SecretRef, type Value } from '@stackquay/engine-api'

/** Fields of an answer that may be given in clear: what a credentials operation tells. */
export async function revealFields(
  fields: Readonly<Record<string, Value | number | boolean | null>>,
  reveal: (ref: SecretRef) => Promise<string>,
): Promise<Record<string, string | number | boolean | null>> {
  const shown = Object.entries(fields).map(async ([name, value]) => {
    const isPlain = typeof value === 'number' || typeof value === 'boolean' || value === null
    return [name, isPlain ? value : await revealValue(value, reveal)] as const
  })
  return Object.fromEntries(await Promise.all(shown))
}
