import { plainText } from '../output/plain-text.ts'

/** JSON Schema as the catalogue answers it; only what a command line needs. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly description?: string
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** What a value may be. `words` is a list of texts, `map` a table of names and texts, `group` holds further settings. */
export type SettingType =
  | { readonly kind: 'flag' | 'text' | 'secret' | 'words' | 'map' | 'json' | 'group' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'number'; readonly whole: boolean; readonly low: number | null; readonly high: number | null }

export interface Setting {
  /** `external.host` */
  readonly key: string
  readonly type: SettingType
  readonly nullable: boolean
  readonly readOnly: boolean
  readonly help: string
}

/** Everything that a schema lets a person set, in its own order. Knows shapes, never the name of a runtime or service. */
export function settingsOf(schema: Readonly<Record<string, unknown>>): readonly Setting[] {
  return settingsBelow('', schema as Schema, schema as Schema)
}

function settingsBelow(prefix: string, schema: Schema, root: Schema): readonly Setting[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const { schema: bare, nullable } = withoutNull(resolved(property, root), root)
    const type = typeOf(name, bare, root)
    // An instruction, such as to delete data, and nothing that a project has.
    if (bare.writeOnly === true && type.kind !== 'secret') return []
    const key = `${prefix}${name}`
    const help = plainText(property.description ?? bare.description ?? '')
    const setting = { key, type, nullable, readOnly: bare.readOnly === true, help }
    return type.kind === 'group' ? [setting, ...settingsBelow(`${key}.`, bare, root)] : [setting]
  })
}

function typeOf(name: string, schema: Schema, root: Schema): SettingType {
  if (schema.enum?.every((value) => typeof value === 'string'))
    return { kind: 'choice', options: schema.enum as readonly string[] }
  switch (schema.type) {
    case 'boolean':
      return { kind: 'flag' }
    case 'string':
      return { kind: isSecret(name, schema) ? 'secret' : 'text' }
    case 'integer':
    case 'number':
      return {
        kind: 'number',
        whole: schema.type === 'integer',
        low: bound(schema.minimum),
        high: bound(schema.maximum),
      }
    case 'array':
      return { kind: schema.items !== undefined && resolved(schema.items, root).type === 'string' ? 'words' : 'json' }
    case 'object': {
      if (schema.properties !== undefined) return { kind: 'group' }
      const values = schema.additionalProperties
      return { kind: typeof values === 'object' && resolved(values, root).type === 'string' ? 'map' : 'json' }
    }
    default:
      return { kind: 'json' }
  }
}

/** Rather one prompt too many than a password in the list of processes: a name that says so is enough. */
function isSecret(name: string, { writeOnly, format }: Schema): boolean {
  return writeOnly === true || format === 'password' || /passw|secret|token|apikey/i.test(name)
}

/** Schema writers put the safe integer range where there is no real bound. */
function bound(value: number | undefined): number | null {
  return value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value
}

/** `anyOf [string, null]` and `type: [string, null]` are a nullable string. */
function withoutNull(schema: Schema, root: Schema): { readonly schema: Schema; readonly nullable: boolean } {
  if (Array.isArray(schema.type)) {
    const types: readonly string[] = schema.type
    const others = types.filter((type) => type !== 'null')
    const { type: _, ...rest } = schema
    return {
      schema: others.length === 1 ? { ...rest, type: others[0]! } : rest,
      nullable: others.length < types.length,
    }
  }
  const branches = (schema.anyOf ?? schema.oneOf)?.map((branch) => resolved(branch, root))
  if (branches === undefined) return { schema, nullable: false }
  const others = branches.filter((branch) => branch.type !== 'null')
  const { anyOf: _any, oneOf: _one, ...rest } = schema
  return {
    schema: others.length === 1 ? { ...others[0], ...rest } : rest,
    nullable: others.length < branches.length,
  }
}

function resolved(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.match(/^#\/\$defs\/(.+)$/)?.[1]
  const target = name === undefined ? undefined : root.$defs?.[name]
  if (target === undefined) return schema
  const { $ref: _, ...rest } = schema
  return { ...resolved(target, root), ...rest }
}
