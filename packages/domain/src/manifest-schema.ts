import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { DatabasePatch, databaseNamePattern, databaseTypeNames, envNamePattern } from '@stackquay/contract'
import { z } from 'zod'
import { isSayable, ManifestFields } from './manifest.ts'

type Json = Record<string, unknown>

let made: Json | null = null

/** JSON Schema (2020-12) of a `stackquay.yml`, for editors: what `parseManifest` takes, with the text of every field. */
export function manifestSchema(): Json {
  made ??= make()
  return made
}

function make(): Json {
  const properties: Json = {}
  for (const [key, field] of Object.entries(ManifestFields.shape)) {
    properties[key] = key === 'databases' ? databases() : schemaOf([key], field)
  }
  // So does a bare name of an addon.
  const addons = properties.addons as { additionalProperties: Json }
  properties.addons = { ...addons, additionalProperties: orNull(addons.additionalProperties) }
  // A bare key wants the kind with its defaults.
  for (const { name, label, summary, settings } of [...runtimeTypes, ...serviceTypes]) {
    const { properties: fields, ...rest } = properties[name] as { properties: Record<string, Json> }
    const described = Object.entries(fields).map(([field, schema]) => [
      field,
      { ...descriptionOf(settings.stored.shape[field] as z.ZodType), ...schema },
    ])
    properties[name] = {
      ...rest,
      type: ['object', 'null'],
      title: label,
      description: summary,
      properties: Object.fromEntries(described),
    }
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'stackquay.yml',
    description: 'A Stackquay project: its runtimes, services, databases and variables.',
    type: 'object',
    properties: { ...properties, env: variables() },
    additionalProperties: false,
  }
}

/** Without what a file cannot say, at every depth; texts may be written as YAML reads them: as numbers and booleans. */
function schemaOf(path: readonly string[], schema: z.ZodType): Json {
  const inner = unwrapped(schema)
  const described = { ...inTheOpen(path, inner), ...descriptionOf(schema) }
  return schema.safeParse(null).success ? orNull(described) : described
}

function inTheOpen(path: readonly string[], schema: z.ZodType): Json {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as Record<string, z.ZodType>).filter(([key, field]) =>
      isSayable([...path, key], field),
    )
    return {
      type: 'object',
      properties: Object.fromEntries(fields.map(([key, field]) => [key, schemaOf([...path, key], field)])),
      additionalProperties: false,
    }
  }
  const plain = bareSchema(schema)
  // A type with a name stands there again, with what a file cannot say.
  const { $defs: _defs, ...outer } = plain
  if (schema instanceof z.ZodArray) return { ...outer, items: schemaOf(path, schema.element as z.ZodType) }
  if (schema instanceof z.ZodRecord)
    return { ...outer, additionalProperties: schemaOf(path, schema.valueType as z.ZodType) }
  return schema instanceof z.ZodString ? { ...plain, ...textOf(schema) } : plain
}

/** `version: 3.12` is a number to YAML and text to us; whether a text can look like that is asked of the text's own rule. */
function textOf(schema: z.ZodString): Json {
  const takes = (text: string) => schema.safeParse(text).success
  return {
    type: [
      'string',
      ...(takes('7') ? [takes('1.5') ? 'number' : 'integer'] : []),
      ...(takes('true') ? ['boolean'] : []),
    ],
    ...(takes('7') && !takes('-7') ? { minimum: 0 } : {}),
    ...(takes('a b') && !takes(' ') ? { pattern: '\\S' } : {}),
  }
}

function orNull(schema: Json): Json {
  if (schema.type === undefined || schema.enum !== undefined || schema.const !== undefined)
    return {
      anyOf: [schema, { type: 'null' }],
      ...(schema.description === undefined ? {} : { description: schema.description }),
    }
  return { ...schema, type: [schema.type, 'null'].flat() }
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema
}

/** The outermost one: that of a field, not that of a type that several share. */
function descriptionOf(schema: z.ZodType): Json {
  const { description } = schema
  if (description !== undefined) return { description }
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : undefined
  return inner === undefined ? {} : descriptionOf(inner as z.ZodType)
}

function bareSchema(schema: z.ZodType): Json {
  const { $schema: _schema, id: _id, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as Json
  return rest
}

function databases(): Json {
  return {
    type: 'object',
    description: 'Databases by their names; the first one is DATABASE_URL.',
    propertyNames: { pattern: databaseNamePattern.source },
    additionalProperties: {
      type: 'object',
      properties: {
        type: { enum: [...databaseTypeNames], description: 'Which database it is.' },
        version: {
          ...schemaOf(['databases', '', 'version'], DatabasePatch.shape.version),
          description: 'A version offered by GET /services.',
        },
        exposePort: { type: 'boolean', description: 'Publishes its port on this machine.' },
        pointInTime: schemaOf(['databases', '', 'pointInTime'], DatabasePatch.shape.pointInTime),
        seed: schemaOf(['databases', '', 'seed'], DatabasePatch.shape.seed),
      },
      required: ['type'],
      additionalProperties: false,
    },
  }
}

function variables(): Json {
  const text = { type: ['string', 'number', 'boolean'], maxLength: 65_536, pattern: '^[^\\u0000]*$' }
  const runtimes = {
    type: 'array',
    items: { enum: runtimeTypes.map((kind) => kind.name) },
    minItems: 1,
    description: 'Which runtimes receive it. Default: all.',
  }
  const variable = (properties: Json, required: readonly string[]) => ({
    type: 'object',
    properties: { ...properties, runtimes },
    required,
    additionalProperties: false,
  })
  return {
    type: ['object', 'null'],
    description: 'Variables of the runtimes. The text of a secret never stands in the file.',
    propertyNames: { pattern: envNamePattern.source },
    additionalProperties: {
      anyOf: [
        text,
        variable({ value: text, secret: { const: false, description: 'Whether its value is set elsewhere.' } }, [
          'value',
        ]),
        variable({ secret: { const: true, description: 'Its value is set elsewhere.' } }, ['secret']),
      ],
    },
  }
}
