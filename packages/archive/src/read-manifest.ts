import type { z } from 'zod'
import type { ManifestFields } from './archive.ts'
import { ArchiveError } from './error.ts'
import { formatVersion, Manifest, mostDepth, mostManifestBytes, type PartEntry } from './manifest.ts'

/** Read as it will be read from the disk: one that would be refused there is never written. */
export function newManifest(id: string, fields: ManifestFields, parts: readonly PartEntry[]): Manifest {
  return parseManifest(Buffer.from(JSON.stringify({ format: 'stackquay-backup', formatVersion, id, ...fields, parts })))
}

export function printManifest(manifest: object): string {
  return `${JSON.stringify(manifest, null, 2)}\n`
}

/** Of bytes that anybody may have written. `newer` for a later format, `damaged` for everything else that is wrong. */
export function parseManifest(bytes: Buffer): Manifest {
  return parseAs(bytes, Manifest, { format: 'stackquay-backup', formatVersion })
}

/** The same for a manifest of another form. */
export function parseAs<T>(
  bytes: Buffer,
  schema: z.ZodType<T>,
  known: { readonly format: string; readonly formatVersion: number },
): T {
  if (bytes.length > mostManifestBytes) throw damaged(`is larger than ${mostManifestBytes} bytes`)
  const text = bytes.toString()
  if (isDeep(text)) throw damaged(`is nested more than ${mostDepth} deep`)
  const value = parseJson(text)
  refuseNewer(value, known)
  const { data, error } = schema.safeParse(value)
  if (data !== undefined) return data
  const [issue] = error?.issues ?? []
  throw damaged(`is not as expected at ${issue?.path.join('.') || 'its top'}: ${issue?.message}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged('is not JSON')
  }
}

function refuseNewer(value: unknown, known: { readonly format: string; readonly formatVersion: number }): void {
  const { format, formatVersion: version } = (value ?? {}) as {
    readonly format?: unknown
    readonly formatVersion?: unknown
  }
  if (format !== known.format || typeof version !== 'number' || version <= known.formatVersion) return
  throw new ArchiveError(
    'newer',
    null,
    `The backup has format version ${version}; this version of Stackquay reads up to ${known.formatVersion}. Update Stackquay, then try again.`,
  )
}

/** Told before it is parsed: schemas go down by recursion. */
function isDeep(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (quoted) {
      if (character === '\\') at += 1
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '{' || character === '[') {
      depth += 1
      if (depth > mostDepth) return true
    } else if (character === '}' || character === ']') depth -= 1
  }
  return false
}

function damaged(detail: string): ArchiveError {
  return new ArchiveError('damaged', null, `The manifest ${detail}.`)
}
