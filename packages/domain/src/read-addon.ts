import { AddonDefinition, addonFaults, longestAddon } from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'
import { z } from 'zod'
import { type ManifestSource, type Path, readSource } from './manifest-source.ts'
import { nearestName } from './names.ts'

export type ReadAddon =
  | { readonly ok: true; readonly definition: AddonDefinition }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

const maxErrors = 20

/** Reads the file of an addon. All faults at once, each with line and column. Never throws for any text. */
export function readAddon(text: string): ReadAddon {
  if (new TextEncoder().encode(text).length > longestAddon) {
    const detail = `The file has more than ${longestAddon} bytes.`
    return { ok: false, errors: [{ pointer: '', code: 'too_large', detail, line: 1, column: 1 }] }
  }
  const read = readSource(
    text,
    'The file is empty. It needs at least "name", "title", "description", "versions" and "ports".',
  )
  if (!read.ok) return read
  const { source } = read
  const first = AddonDefinition.safeParse(source.value)
  // `version: 2.10` is a number to YAML and text to us: where text is wanted, what was written counts.
  const parsed = first.success ? first : AddonDefinition.safeParse(asWritten(source, first.error.issues))
  const errors = parsed.success
    ? addonFaults(parsed.data).map(({ path, code, detail }) => source.fault(path, code, detail))
    : parsed.error.issues.flatMap((issue) => faultsOf(issue, source))
  if (parsed.success && errors.length === 0) return { ok: true, definition: parsed.data }
  return { ok: false, errors: errors.toSorted((one, other) => one.line! - other.line!).slice(0, maxErrors) }
}

function asWritten(source: ManifestSource, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(source.value)
  for (const issue of issues) {
    const written = source.writtenAs(issue.path)
    const last = issue.path.at(-1)
    if (issue.code !== 'invalid_type' || written === undefined || last === undefined) continue
    const holder = issue.path.slice(0, -1).reduce<unknown>((value, key) => (value as Values)[key], copy)
    ;(holder as Values)[last] = written
  }
  return copy
}

type Values = Record<PropertyKey, unknown>

/** Words of other tools that would reach beyond the container. */
const beyond =
  /privileged|cap_?add|capabilit|devices?$|network_?mode|^network|^pid|^ipc|security|sysctl|hostpath|host_|runtime$/i

function faultsOf(issue: z.core.$ZodIssue, source: ManifestSource): readonly FieldError[] {
  const key = String(issue.path.at(-1) ?? 'The file')
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(issue.path)
    return issue.keys.map((name) =>
      source.fault([...issue.path, name], 'unknown_field', unknownKey(name, known), 'key'),
    )
  }
  if (issue.code === 'invalid_type') {
    const isMissing = issue.input === undefined && valueAt(source.value, issue.path) === undefined
    const wanted = kindsOfValue[issue.expected] ?? issue.expected
    return [source.fault(issue.path, issue.code, isMissing ? `"${key}" is missing.` : `"${key}" must be ${wanted}.`)]
  }
  if (issue.code === 'invalid_value')
    return [source.fault(issue.path, issue.code, `"${key}" must be one of ${issue.values.map(String).join(', ')}.`)]
  return [
    source.fault(issue.path, issue.code, `"${key}" ${issue.message.replace(/^(?:Invalid \w+: |Too )/, 'is too ')}.`),
  ]
}

function unknownKey(name: string, known: readonly string[]): string {
  if (beyond.test(name))
    return `Unknown key "${name}". An addon is never privileged, and sees nothing of the machine but its data and, with "mounts: source", the source of its project.`
  const near = nearestName(name, known)
  return `Unknown key "${name}". ${near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean "${near}"?`}`
}

const kindsOfValue: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map of keys',
  record: 'a map of keys',
  array: 'a list',
}

function keysAt(path: Path): readonly string[] {
  let schema: z.ZodType | undefined = AddonDefinition
  for (const key of path) {
    schema = bare(schema)
    if (schema instanceof z.ZodObject) schema = schema.shape[String(key)] as z.ZodType | undefined
    else if (schema instanceof z.ZodArray) schema = schema.element as z.ZodType
    else return []
    if (schema === undefined) return []
  }
  schema = bare(schema)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

function bare(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? bare(schema.unwrap() as z.ZodType) : schema
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Values | undefined)?.[key], value)
}
