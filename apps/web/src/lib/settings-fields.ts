import { labelOfKey } from './names.ts'

/** JSON Schema as the catalogue answers it; only what forms need. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly description?: string
  readonly default?: unknown
  readonly format?: string
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

interface FieldBase {
  readonly key: string
  readonly label: string
  readonly help: string | null
  readonly nullable: boolean
  readonly readOnly: boolean
}

/** One control of a form. `words` is a list of texts (a command), `map` a table of names and texts. */
export type SettingsField = FieldBase &
  (
    | { readonly kind: 'flag' }
    | { readonly kind: 'choice'; readonly options: readonly string[] }
    | { readonly kind: 'text'; readonly maxLength: number | null }
    /** A text that is sent and never answered; the field named by `presence` says whether there is one. */
    | { readonly kind: 'secret'; readonly maxLength: number | null; readonly presence: string }
    | { readonly kind: 'number'; readonly whole: boolean; readonly min: number | null; readonly max: number | null }
    | { readonly kind: 'words' }
    | { readonly kind: 'map' }
    | {
        readonly kind: 'group'
        readonly fields: readonly SettingsField[]
        /** What it begins with when it was null: the schema's own defaults. */
        readonly initial: Readonly<Record<string, unknown>>
      }
    /** A shape without a control: edited as JSON rather than hidden. */
    | { readonly kind: 'json' }
  )

/**
 * The controls for an object schema, in its own order. Knows shapes, never the name of a runtime or a service. A flag
 * that is only written is an act, such as deleting data: it belongs on a button of its own.
 */
export function fieldsOf(schema: JsonSchema, root: JsonSchema = schema): readonly SettingsField[] {
  const properties = resolve(schema, root).properties ?? {}
  const presences = Object.keys(properties).map(presenceOf)
  return Object.entries(properties)
    .filter(([key, property]) => !presences.includes(key) && !isAct(property, root))
    .map(([key, property]) => fieldOf(key, property, root, presenceOf(key) in properties))
}

function isAct(property: JsonSchema, root: JsonSchema): boolean {
  const resolved = resolve(property, root)
  return resolved.writeOnly === true && withoutNull(resolved, root).schema.type === 'boolean'
}

/** A text is secret when its schema says so, or when it is answered as a mere "there is one" beside it. */
function fieldOf(key: string, property: JsonSchema, root: JsonSchema, hasPresence: boolean): SettingsField {
  const { schema, nullable } = withoutNull(oneOrMore(resolve(property, root), root), root)
  const base: FieldBase = {
    key,
    label: labelOfKey(key),
    help: property.description ?? schema.description ?? null,
    nullable,
    readOnly: property.readOnly === true || schema.readOnly === true,
  }
  if (schema.enum?.every((value) => typeof value === 'string')) {
    return { ...base, kind: 'choice', options: schema.enum as readonly string[] }
  }
  switch (schema.type) {
    case 'boolean':
      return { ...base, kind: 'flag' }
    case 'string':
      if (hasPresence || isSecret(property) || isSecret(schema)) {
        return { ...base, kind: 'secret', maxLength: schema.maxLength ?? null, presence: presenceOf(key) }
      }
      return { ...base, kind: 'text', maxLength: schema.maxLength ?? null }
    case 'integer':
    case 'number':
      return {
        ...base,
        kind: 'number',
        whole: schema.type === 'integer',
        // Schema writers put the safe integer range where there is no real bound.
        min: bound(schema.minimum),
        max: bound(schema.maximum),
      }
    case 'array':
      return schema.items !== undefined && resolve(schema.items, root).type === 'string'
        ? { ...base, kind: 'words' }
        : { ...base, kind: 'json' }
    case 'object': {
      if (schema.properties !== undefined) {
        return { ...base, kind: 'group', fields: fieldsOf(schema, root), initial: defaultsOf(schema, root) }
      }
      const values = schema.additionalProperties
      return typeof values === 'object' && resolve(values, root).type === 'string'
        ? { ...base, kind: 'map' }
        : { ...base, kind: 'json' }
    }
    default:
      return { ...base, kind: 'json' }
  }
}

/** Where one text may be sent in place of a list of one, the list is what there is to edit. */
function oneOrMore(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const branches = (schema.anyOf ?? schema.oneOf ?? []).map((branch) => resolve(branch, root))
  const list = branches.find(({ type, items }) => type === 'array' && resolve(items ?? {}, root).type === 'string')
  if (list === undefined || branches.length !== 2 || !branches.some(({ type }) => type === 'string')) return schema
  return { ...list, ...(schema.description === undefined ? {} : { description: schema.description }) }
}

function isSecret(schema: JsonSchema): boolean {
  return schema.writeOnly === true || schema.format === 'password'
}

/** `password` is answered as `hasPassword`. */
function presenceOf(key: string): string {
  return `has${key.charAt(0).toUpperCase()}${key.slice(1)}`
}

function defaultsOf(schema: JsonSchema, root: JsonSchema): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
      const value = resolve(property, root).default
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

function bound(value: number | undefined): number | null {
  return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value
}

/** `anyOf [string, null]` and `type: [string, null]` are a nullable string. */
function withoutNull(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; nullable: boolean } {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null')
    if (types.length === 1)
      return { schema: { ...schema, type: types[0] }, nullable: types.length < schema.type.length }
    return { schema, nullable: false }
  }
  const branches = schema.anyOf ?? schema.oneOf
  if (branches === undefined) return { schema, nullable: false }
  const others = branches.map((branch) => resolve(branch, root)).filter((branch) => branch.type !== 'null')
  const only = others[0]
  if (others.length !== 1 || only === undefined) return { schema: {}, nullable: others.length < branches.length }
  return {
    schema: { ...only, description: schema.description ?? only.description },
    nullable: others.length < branches.length,
  }
}

function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const name = schema.$ref?.match(/^#\/\$defs\/(.+)$/)?.[1]
  const target = name === undefined ? undefined : root.$defs?.[name]
  return target === undefined ? schema : { ...resolve(target, root), ...withoutRef(schema) }
}

function withoutRef({ $ref: _, ...rest }: JsonSchema): JsonSchema {
  return rest
}
