import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { schemaName } from '../schemas/project.ts'
import type { Json } from './json.ts'

/** Objects that are another one with more fields. */
export const extensions: Readonly<Record<string, string>> = {
  EnvValue: 'EnvVariable',
  InboxMessage: 'InboxSummary',
  NamedDatabase: 'Database',
  SecretKeyReplaced: 'SecretKey',
  Session: 'SessionIdentity',
  TokenCreated: 'Token',
  TrafficPoint: 'TrafficTotal',
  WebhookWithSecret: 'Webhook',
}

/** Names for the fields that several objects share, which are no object of their own. */
const commons: Readonly<Record<string, readonly string[]>> = {
  ProjectCommon: ['Project', 'ProjectSummary'],
  RuntimeCommon: runtimeTypes.map((kind) => `${schemaName(kind.name)}Runtime`),
  ServiceCommon: serviceTypes.map((kind) => `${schemaName(kind.name)}Service`),
}

/** The same schemas, with their common part written once. */
export function withBases(schemas: ReadonlyMap<string, Json>): Map<string, Json> {
  const result = new Map(schemas)
  for (const [name, base] of Object.entries(extensions))
    result.set(name, extensionOf(base, objectAt(schemas, base), objectAt(schemas, name)))
  for (const [name, members] of Object.entries(commons)) {
    const common = commonOf(members.map((member) => objectAt(schemas, member)))
    result.set(name, common)
    for (const member of members) result.set(member, extensionOf(name, common, objectAt(schemas, member)))
  }
  return result
}

interface ObjectSchema extends Json {
  readonly properties: Readonly<Record<string, Json>>
  readonly required: readonly string[]
}

function objectAt(schemas: ReadonlyMap<string, Json>, name: string): ObjectSchema {
  // What is answered may gain fields, and a closed object can be part of no other.
  const { additionalProperties: _closed, ...schema } = schemas.get(name) ?? {}
  return schema as ObjectSchema
}

function commonOf([first, ...others]: readonly ObjectSchema[]): ObjectSchema {
  const same = Object.entries(first!.properties).filter(([field, schema]) =>
    others.every(({ properties }) => JSON.stringify(properties[field]) === JSON.stringify(schema)),
  )
  const properties = Object.fromEntries(same)
  return { type: 'object', properties, required: first!.required.filter((field) => field in properties) }
}

/** A base that the object does not hold whole is a mistake of the tables above. */
function extensionOf(name: string, base: ObjectSchema, schema: ObjectSchema): Json {
  for (const [field, text] of Object.entries(base.properties)) {
    if (JSON.stringify(schema.properties[field]) !== JSON.stringify(text))
      throw new Error(`${field} is not that of ${name}.`)
  }
  const { description, properties, required, ...rest } = schema
  const isOwn = (field: string) => !(field in base.properties)
  const own = Object.fromEntries(Object.entries(properties).filter(([field]) => isOwn(field)))
  const ownRequired = required.filter(isOwn)
  const addition = { ...rest, properties: own, ...(ownRequired.length === 0 ? {} : { required: ownRequired }) }
  return {
    ...(description === undefined ? {} : { description }),
    allOf: [{ $ref: `#/components/schemas/${name}` }, ...(Object.keys(own).length === 0 ? [] : [addition])],
  }
}
