import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import {
  databaseTypeNames,
  envNamePattern,
  type FieldError,
  ProjectPatch,
  readOnlyProjectFields,
} from '@stackquay/contract'
import { z } from 'zod'
import { type ManifestSource, type Path, readSource } from './manifest-source.ts'
import { nearestName } from './names.ts'

/** What a `stackquay.yml` says. */
export interface Manifest {
  /**
   * A body for PATCH, or for POST with a name: everything the file says but its secrets. A runtime or service that the
   * file names is enabled unless the file says otherwise.
   */
  readonly patch: ProjectPatch
  /** The secret variables the project needs. Their values never stand in a file. */
  readonly secrets: readonly ManifestSecret[]
}

export interface ManifestSecret {
  readonly name: string
  /** Which runtimes receive it; absent when the file does not say. */
  readonly runtimes?: readonly string[]
}

export type ParsedManifest =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

const maxErrors = 20

/** Reads the text of a project file. All faults at once, each with line and column (both from 1). Never throws for any text. */
export function parseManifest(text: string): ParsedManifest {
  const read = readSource(text, 'The file is empty. It needs at least a runtime, for example "node: {}".')
  if (!read.ok) return read
  const { source } = read
  const errors: FieldError[] = []
  const { env, ...rest } = source.value as Readonly<Record<string, unknown>>
  const variables = readVariables(env, source, errors)
  const body = readBody(rest, source, errors)
  if (errors.length > 0) return { ok: false, errors: inOrder(errors).slice(0, maxErrors) }
  const { version: _version, ...fields } = body
  const patch = {
    ...fields,
    ...(variables.values.size === 0 ? {} : { env: Object.fromEntries(variables.values) }),
  } as ProjectPatch
  return { ok: true, manifest: { patch, secrets: variables.secrets } }
}

/** Keys of kinds, which hold settings; a bare `redis:` wants it with its defaults. */
const kindNames = [...runtimeTypes, ...serviceTypes].map((kind) => kind.name)

/** The fields of PATCH without those that only an answer has; `env` is read by itself. */
export const ManifestFields = z.strictObject({
  version: z.literal(1, 'must be 1: the only version of the project file there is').optional(),
  ...Object.fromEntries(
    Object.entries(ProjectPatch.shape).filter(
      ([field]) => field !== 'env' && !(readOnlyProjectFields as readonly string[]).includes(field),
    ),
  ),
})
const knownKeys = [...Object.keys(ManifestFields.shape), 'env']

function readBody(
  sent: Readonly<Record<string, unknown>>,
  source: ManifestSource,
  errors: FieldError[],
): Readonly<Record<string, unknown>> {
  const wanted = { ...sent }
  for (const name of kindNames) {
    if (!Object.hasOwn(wanted, name)) continue
    const settings = wanted[name] ?? {}
    wanted[name] = isMap(settings) ? { enabled: true, ...settings } : settings
  }
  if (isMap(wanted.addons)) wanted.addons = withDefaults(wanted.addons)
  refuseWhatAFileCannotSay(wanted, source, errors)
  const first = ManifestFields.safeParse(wanted)
  // `version: 3.10` is a number to YAML and text to us: where text is wanted, what was written counts.
  const parsed = first.success ? first : ManifestFields.safeParse(asWritten(wanted, first.error.issues, source))
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues) errors.push(...faultsOf(issue, source))
  return {}
}

/** Like a service, an addon that the file names is wanted; a bare name takes the defaults. */
function withDefaults(addons: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(addons).map(([name, settings]) => {
    const fields = settings ?? {}
    return [name, isMap(fields) ? { enabled: true, ...fields } : fields] as const
  })
  return Object.fromEntries(entries)
}

/** Fields that the API answers or acts on once; in a file they would be ignored, or act each time it is applied. */
function refuseWhatAFileCannotSay(
  body: Readonly<Record<string, unknown>>,
  source: ManifestSource,
  errors: FieldError[],
): void {
  const visit = (value: unknown, path: Path) => {
    if (!isMap(value)) return
    for (const [key, inner] of Object.entries(value)) {
      const schema = schemaAt([...path, key])
      if (key === 'removeData') {
        errors.push(
          source.fault(
            [...path, key],
            'unknown_field',
            'A project file never deletes data. Use the page, "stq" or the API.',
            'key',
          ),
        )
      } else if (isSecretField([...path, key])) {
        const detail = `A project file names no passwords: anybody who reads it would know "${key}". Remove it and set it in the page, with "stq" or the API.`
        errors.push(source.fault([...path, key], 'secret_in_file', detail, 'key'))
      } else if (schema?.meta()?.readOnly === true) {
        errors.push(source.fault([...path, key], 'read_only', `"${key}" is chosen by the service. Remove it.`, 'key'))
      }
      visit(inner, [...path, key])
    }
  }
  visit(body, [])
  for (const [name, database] of Object.entries(isMap(body.databases) ? body.databases : {})) {
    const at: Path = ['databases', name]
    if (!isMap(database) || database.type === undefined) {
      errors.push(
        source.fault(
          at,
          'required',
          `"${name}" must say which database it is, for example "type: ${databaseTypeNames[0]}".`,
          'key',
        ),
      )
    } else if (!databaseTypeNames.includes(database.type as string)) {
      const labels = databaseTypes.map((kind) => kind.name)
      errors.push(
        source.fault([...at, 'type'], 'unknown_type', oneOf('type', database.type, labels, databaseTypeNames)),
      )
    }
  }
}

function asWritten(
  body: Readonly<Record<string, unknown>>,
  issues: readonly z.core.$ZodIssue[],
  source: ManifestSource,
): unknown {
  const copy = structuredClone(body)
  for (const issue of issues) {
    const written = source.writtenAs(issue.path)
    if (issue.code !== 'invalid_type' || issue.expected !== 'string' || written === undefined) continue
    const holder = issue.path
      .slice(0, -1)
      .reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)[key], copy)
    ;(holder as Record<PropertyKey, unknown>)[issue.path.at(-1)!] = written
  }
  return copy
}

interface Variables {
  /** A Map: `__proto__` is a valid name of a variable. */
  readonly values: Map<string, string | { readonly value: string; readonly runtimes: string[] }>
  readonly secrets: ManifestSecret[]
}

/** `NAME: value` or `NAME: {secret: true}`. Numbers and booleans are what was written, to the byte. */
function readVariables(env: unknown, source: ManifestSource, errors: FieldError[]): Variables {
  const values: Variables['values'] = new Map()
  const secrets: ManifestSecret[] = []
  if (env === undefined || env === null) return { values, secrets }
  if (!isMap(env)) {
    errors.push(source.fault(['env'], 'invalid_type', '"env" must be a map, such as "GREETING: hello".', 'key'))
    return { values, secrets }
  }
  for (const [name, value] of Object.entries(env)) {
    const path: Path = ['env', name]
    const text = textOf(value, path, source)
    if (!envNamePattern.test(name)) {
      const detail = `"${name}" is not a valid variable name: letters, digits and "_", not beginning with a digit.`
      errors.push(source.fault(path, 'invalid_key', detail, 'key'))
    } else if (text !== undefined) {
      if (text.length > 65_536) errors.push(source.fault(path, 'too_big', `"${name}" has more than 65,536 characters.`))
      else if (text.includes('\0'))
        errors.push(source.fault(path, 'invalid_format', `"${name}" holds a NUL character, which no environment can.`))
      else values.set(name, text)
    } else if (value === null) {
      const detail = `"${name}" has no value. Write ${name}: "" for an empty one, or ${name}: {secret: true} for one that is set elsewhere.`
      errors.push(source.fault(path, 'required', detail, 'key'))
    } else if (isMap(value)) {
      readVariable(name, value, source, errors, values, secrets)
    } else {
      errors.push(
        source.fault(path, 'invalid_type', `"${name}" must be text. A list cannot stand in an environment.`, 'key'),
      )
    }
  }
  return { values, secrets }
}

function readVariable(
  name: string,
  fields: Readonly<Record<string, unknown>>,
  source: ManifestSource,
  errors: FieldError[],
  values: Variables['values'],
  secrets: ManifestSecret[],
): void {
  const path: Path = ['env', name]
  for (const key of Object.keys(fields)) {
    if (!variableKeys.includes(key)) errors.push(unknownKey([...path, key], variableKeys, source))
  }
  const runtimes = readReceivers([...path, 'runtimes'], fields.runtimes, source, errors)
  const text = textOf(fields.value, [...path, 'value'], source)
  if (fields.secret !== undefined && typeof fields.secret !== 'boolean') {
    errors.push(source.fault([...path, 'secret'], 'invalid_type', '"secret" must be true or false.'))
  } else if (fields.secret !== true) {
    if (text === undefined)
      errors.push(source.fault([...path, 'value'], 'required', `"${name}" needs a "value" that is text.`))
    else values.set(name, runtimes === undefined ? text : { value: text, runtimes: [...runtimes] })
  } else if (fields.value !== undefined) {
    const detail = `A project file names secrets and does not hold them: anybody who reads the file would know "${name}". Remove "value" and set it in the page, with "stq" or the API.`
    errors.push(source.fault([...path, 'value'], 'secret_in_file', detail, 'key'))
  } else {
    secrets.push(runtimes === undefined ? { name } : { name, runtimes })
  }
}

const variableKeys = ['secret', 'value', 'runtimes']
const runtimeNames = runtimeTypes.map((kind) => kind.name)

function readReceivers(
  path: Path,
  sent: unknown,
  source: ManifestSource,
  errors: FieldError[],
): readonly string[] | undefined {
  if (sent === undefined) return undefined
  if (!Array.isArray(sent) || sent.length === 0) {
    errors.push(source.fault(path, 'invalid_type', '"runtimes" must be a list of runtimes that receive it.', 'key'))
    return undefined
  }
  for (const [index, name] of sent.entries()) {
    if (!runtimeNames.includes(name as string))
      errors.push(source.fault([...path, index], 'invalid_value', oneOf('runtimes', name, runtimeNames)))
  }
  return sent.map(String)
}

function textOf(value: unknown, path: Path, source: ManifestSource): string | undefined {
  return typeof value === 'string' ? value : source.writtenAs(path)
}

function faultsOf(issue: z.core.$ZodIssue, source: ManifestSource): readonly FieldError[] {
  const key = String(issue.path.at(-1) ?? 'The file')
  const fault = (detail: string, at?: 'key' | 'value') => [source.fault(issue.path, issue.code, detail, at)]
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((name) => unknownKey([...issue.path, name], keysAt(issue.path), source))
    case 'invalid_type':
      if (issue.path.length === 1 && kindNames.some((name) => name === key))
        return fault(`"${key}" must be a map of keys; "${key}:" alone takes the defaults.`)
      return fault(`"${key}" must be ${kindOfValue[issue.expected] ?? issue.expected}.`)
    case 'invalid_value':
      if (issue.values.length === 1) return fault(`"${key}" ${issue.message}.`)
      return fault(oneOf(key, valueAt(source.value, issue.path), issue.values.map(String)))
    case 'invalid_key':
      return fault(`"${key}" ${issue.issues[0]?.message ?? 'is not a valid name'}.`, 'key')
    case 'too_small':
    case 'too_big':
      return fault(`"${key}" ${boundOf(issue)}.`)
    default:
      return fault(`"${key}" ${issue.message.replace(/^Invalid string: /, '')}.`)
  }
}

const kindOfValue: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map of keys',
  record: 'a map of keys',
  array: 'a list',
}

function boundOf(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const low = issue.code === 'too_small'
  const limit = String(low ? issue.minimum : issue.maximum)
  const which = issue.inclusive === false ? (low ? 'more than' : 'less than') : low ? 'at least' : 'at most'
  if (issue.origin === 'string') return `must have ${which} ${limit} character${limit === '1' ? '' : 's'}`
  if (issue.origin === 'array') return `must have ${which} ${limit} entr${limit === '1' ? 'y' : 'ies'}`
  return `must be ${which} ${limit}`
}

function oneOf(key: string, given: unknown, offered: readonly string[], known: readonly string[] = offered): string {
  const near = typeof given === 'string' ? nearestName(given, known) : undefined
  return `"${key}" must be one of ${offered.join(', ')}${near === undefined ? '.' : `. Did you mean "${near}"?`}`
}

function unknownKey(path: Path, known: readonly string[], source: ManifestSource): FieldError {
  const key = String(path.at(-1))
  if (path.length === 1 && databaseTypeNames.includes(key))
    return source.fault(
      path,
      'unknown_field',
      `Unknown key "${key}". Databases have names and stand under "databases", for example "main: {type: ${key}}".`,
      'key',
    )
  const near = nearestName(key, known)
  const advice = near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean "${near}"?`
  return source.fault(path, 'unknown_field', `Unknown key "${key}". ${advice}`, 'key')
}

/** Keys that may stand at a path, without those that a file cannot say. */
function keysAt(path: Path): readonly string[] {
  if (path.length === 0) return knownKeys
  const schema = schemaAt(path)
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>)
    .filter(([key, field]) => isSayable([...path, key], field))
    .map(([key]) => key)
}

/** Whether a file can say it: chosen by a person, true each time it is applied, and no secret. */
export function isSayable(path: Path, schema: z.ZodType): boolean {
  const meta = bare(schema).meta()
  return meta?.readOnly !== true && meta?.writeOnly !== true && !isSecretField(path)
}

function isSecretField(path: Path): boolean {
  const [name, ...inner] = path
  const kind = serviceTypes.find((candidate) => candidate.name === name)
  return kind?.settings.secretFields.some((field) => field.join('.') === inner.join('.')) === true
}

function schemaAt(path: Path): z.ZodType | undefined {
  let schema: z.ZodType | undefined = ManifestFields
  for (const key of path) {
    if (schema instanceof z.ZodObject) schema = Object.hasOwn(schema.shape, key) ? schema.shape[String(key)] : undefined
    else if (schema instanceof z.ZodRecord) schema = schema.valueType as z.ZodType
    else return undefined
    schema = schema === undefined ? undefined : bare(schema)
  }
  return schema
}

/** Without the wrappers that say it may be absent. */
function bare(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (
    inner.meta()?.readOnly !== true &&
    inner.meta()?.writeOnly !== true &&
    (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault)
  ) {
    inner = inner.unwrap() as z.ZodType
  }
  return inner
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)
}

function inOrder(errors: readonly FieldError[]): readonly FieldError[] {
  return errors.toSorted((a, b) => a.line! - b.line! || a.column! - b.column!)
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
