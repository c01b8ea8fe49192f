import { jsonShape } from '../../json-shape.ts'

export interface JsonQuestion {
  readonly bytes: Uint8Array
  readonly mostValues: number
  readonly deepest: number
}

/** A JSON text as a value that the asking thread can take over in no time; null for what is none, or holds too much. */
export function run({ bytes, mostValues, deepest }: JsonQuestion): { readonly value: unknown } {
  const { depth, values } = jsonShape(bytes)
  if (depth > deepest || values > mostValues) return { value: null }
  try {
    return { value: JSON.parse(new TextDecoder().decode(bytes)) as unknown }
  } catch {
    return { value: null }
  }
}
