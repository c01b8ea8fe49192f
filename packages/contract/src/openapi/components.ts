import { z } from 'zod'
import { examples } from './examples.ts'
import { withBases } from './extensions.ts'
import { textOfField } from './field-texts.ts'
import type { Json } from './json.ts'
import { lift } from './lift.ts'
import { portablePattern } from './portable-pattern.ts'

export interface Components {
  /** A reference when the schema has an id, else the schema itself. */
  refer(schema: z.ZodType, io: Direction): Json
  /** Always the schema itself. */
  plain(schema: z.ZodType, io: Direction): Json
  named(id: string): Json
  sorted(): Record<string, Json>
}

type Direction = 'input' | 'output'

/** Schemas that are sent in another form than they are answered, where defaults make fields optional. */
const sentNames: Readonly<Record<string, string>> = {
  RedirectRule: 'RedirectRulePut',
  CorsRules: 'CorsRulesPut',
  OidcRoles: 'OidcRolesPut',
}

export function createComponents(): Components {
  const schemas = new Map<string, Json>()
  return {
    refer(schema, io) {
      const { properties } = convert(z.object({ it: schema }), io) as { properties: { it: Json } }
      return properties.it
    },
    plain: convert,
    named: (id) => ({ $ref: `#/components/schemas/${id}` }),
    sorted() {
      const lifted = lift(schemas)
      const described = new Map(
        [...lifted].map(([name, schema]) => [name, withFieldTexts(name, schema, (other) => lifted.get(other))]),
      )
      return Object.fromEntries(
        [...withBases(described)]
          .map(([name, schema]) => [name, withExample(name, schema)] as const)
          .sort(([one], [other]) => (one < other ? -1 : 1)),
      )
    },
  }

  function convert(schema: z.ZodType, io: Direction): Json {
    const {
      $schema: _dialect,
      $defs = {},
      ...json
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json & {
      $defs?: Record<string, Json>
    }
    const names = new Map(Object.entries($defs).map(([id, definition]) => [id, nameFor(id, definition)]))
    const rename = (reference: string) => `#/components/schemas/${names.get(reference.slice(8)) ?? reference.slice(8)}`
    for (const [id, definition] of Object.entries($defs)) {
      const name = names.get(id)!
      schemas.set(name, withReferences(definition, rename))
    }
    return withReferences(json, rename)
  }

  /** A second form needs a name that somebody chose: a derived one would stand in every generated client. */
  function nameFor(id: string, definition: Json): string {
    const known = schemas.get(id)
    const plain = withReferences(definition, (ref) => ref.replace('#/$defs/', '#/components/schemas/'))
    if (known === undefined || JSON.stringify(known) === JSON.stringify(plain)) return id
    const name = sentNames[id]
    if (name === undefined) throw new Error(`"${id}" is sent in another form than answered. Give that form a name.`)
    return name
  }
}

/**
 * An answer may gain fields in any version, so its objects stay open; numbers in a query are texts on the wire, whose
 * pattern says nothing to a reader; the bounds of safe integers are noise; a format says more than its pattern.
 */
function tidy({ jsonSchema, zodSchema }: { jsonSchema: Record<string, unknown>; zodSchema: unknown }): void {
  const { def } = (zodSchema as z.ZodType)._zod as unknown as { def: Definition }
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
  if (jsonSchema.type === 'integer' || jsonSchema.type === 'boolean')
    for (const key of ['pattern', 'enum']) delete jsonSchema[key]
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (typeof jsonSchema.pattern === 'string') jsonSchema.pattern = portablePattern(jsonSchema.pattern)
  tellUnion(jsonSchema, def)
  tellNull(jsonSchema)
  // Keys are texts in any JSON.
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
  delete jsonSchema.id
}

interface Definition {
  readonly type: string
  readonly catchall?: unknown
  readonly discriminator?: string
  readonly options?: readonly z.ZodType[]
}

/** Which shape it is, a reader sees in one field; which value means which, the shapes themselves say. */
function tellUnion(jsonSchema: Record<string, unknown>, def: Definition): void {
  if (def.discriminator === undefined) return
  const field = def.discriminator
  const mapping = (def.options ?? []).map((option) => {
    const { value } = (option as z.ZodObject).shape[field] as unknown as { value: string }
    return [value, `#/components/schemas/${option.meta()?.id}`]
  })
  jsonSchema.discriminator = { propertyName: field, mapping: Object.fromEntries(mapping) }
}

/** A simple type or null in the short form; anything or null is anything. */
function tellNull(jsonSchema: Record<string, unknown>): void {
  const [schema, nothing, ...others] = (jsonSchema.anyOf ?? []) as Json[]
  if (schema === undefined || nothing?.type !== 'null' || others.length > 0) return
  const { type, description, ...rest } = schema
  if (Object.keys(schema).length > 0 && (typeof type !== 'string' || 'enum' in schema || 'const' in schema)) return
  if ('properties' in schema || 'items' in schema) return
  delete jsonSchema.anyOf
  Object.assign(jsonSchema, rest, type === undefined ? {} : { type: [type, 'null'] })
  if (jsonSchema.description === undefined && description !== undefined) jsonSchema.description = description
}

/** Examples stand with the schema: every operation that sends or answers it has them. */
function withExample(name: string, schema: Json): Json {
  return name in examples ? { ...schema, examples: [examples[name]] } : schema
}

/** Descriptions of an object's fields, where neither the field's schema nor the one it refers to has its own. */
function withFieldTexts(name: string, schema: Json, find: (name: string) => Json | undefined): Json {
  if (schema.properties === undefined) return schema
  const properties = Object.entries(schema.properties as Record<string, Json>).map(
    ([field, { description, ...rest }]) => {
      const target = find(String(rest.$ref).slice('#/components/schemas/'.length))
      if (description === undefined && target?.description !== undefined) return [field, rest]
      const text = textOfField(name, field, description as string | undefined)
      return [field, text === undefined ? rest : { ...rest, description: text }]
    },
  )
  return { ...schema, properties: Object.fromEntries(properties) }
}

function withReferences<T>(json: T, rename: (reference: string) => string): T {
  if (Array.isArray(json)) return json.map((item) => withReferences(item, rename)) as T
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#/$defs/')
        ? [key, rename(value)]
        : [key, withReferences(value, rename)],
    ),
  ) as T
}
