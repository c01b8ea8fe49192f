import { type Operation, type OperationId, operations } from '@stackquay/contract'
import type { AgentAct, AgentTool } from '@stackquay/contract/agent-tools'
import { z } from 'zod'

type Json = Readonly<Record<string, unknown>>
export type Place = 'params' | 'query' | 'body'

/** An argument of an act: which field of the operation it is. */
export interface ActArgument {
  readonly name: string
  readonly field: string
  readonly place: Place
  readonly schema: Json
  readonly required: boolean
}

export const operationOf = (id: OperationId): Operation => operations[id]

export function argumentsOf(act: AgentAct): readonly ActArgument[] {
  const operation = operationOf(act.operation)
  const [params, query, body] = [operation.params, operation.query, operation.body].map(fieldsOf)
  const found: ActArgument[] = Object.entries(params!).map(([field, schema]) => ({
    name: nameOf(act, field),
    field,
    place: 'params',
    schema,
    required: true,
  }))
  for (const name of act.takes ?? []) {
    const field = act.renames?.[name] ?? name
    const place = query![field] === undefined ? 'body' : 'query'
    const schema = (place === 'query' ? query! : body!)[field]
    if (schema === undefined) throw new TypeError(`${act.operation} takes no "${field}".`)
    found.push({ name, field, place, schema, required: name === 'project' || isRequired(operation[place], field) })
  }
  return found
}

/** The project is the same argument everywhere, whatever the path calls it. */
function nameOf({ renames = {} }: AgentAct, field: string): string {
  if (field === 'id') return 'project'
  return Object.entries(renames).find(([, renamed]) => renamed === field)?.[0] ?? field
}

/** Arguments of all acts of a tool, as the JSON Schema that a client reads. Short: it reads those of all tools at once. */
export function inputSchemaOf(tool: AgentTool): {
  type: 'object'
  properties: Record<string, object>
  required?: string[]
} {
  const acts = Object.entries(tool.acts)
  const properties: Record<string, object> = {}
  const needed = new Map<string, number>()
  for (const [, act] of acts) {
    for (const { name, schema, required } of argumentsOf(act)) {
      properties[name] ??= shown(schema, tool.texts?.[name])
      if (required) needed.set(name, (needed.get(name) ?? 0) + 1)
    }
    if (act.body !== undefined) {
      const { argument, merged } = act.body
      properties[argument] ??= shown({ type: isText(act) ? 'string' : 'object' }, tool.texts?.[argument])
      if (merged !== true) needed.set(argument, (needed.get(argument) ?? 0) + 1)
    }
    if (act.ifMatch !== undefined) properties[act.ifMatch] ??= shown({ type: 'string' }, tool.texts?.[act.ifMatch])
  }
  const { project, ...others } = properties
  const selector =
    tool.selector === undefined ? {} : { [tool.selector]: { type: 'string', enum: acts.map(([name]) => name) } }
  const required = [...needed].filter(([, count]) => count === acts.length).map(([name]) => name)
  const all = [...Object.keys(selector), ...required, ...(tool.ownRequired ?? [])]
  return {
    type: 'object',
    properties: {
      ...(project === undefined ? {} : { project: { type: 'string' } }),
      ...selector,
      ...others,
      ...tool.own,
    },
    ...(all.length === 0 ? {} : { required: all }),
  }
}

/** A body of bytes is given as text. */
export function isText({ operation }: AgentAct): boolean {
  return operationOf(operation).bodyStream === true
}

function shown(schema: Json, text: string | undefined): object {
  const { type, enum: options, items } = schema as { type?: string; enum?: unknown[]; items?: Json }
  const kind =
    type === 'boolean' || type === 'integer' || type === 'object'
      ? { type }
      : type === 'array'
        ? { type, items: items?.type === undefined ? {} : { type: items.type } }
        : options === undefined
          ? type === undefined
            ? {}
            : { type }
          : { type: 'string', enum: options }
  return text === undefined ? kind : { ...kind, description: text }
}

function fieldsOf(schema: z.ZodType | undefined): Readonly<Record<string, Json>> {
  const object = objectIn(schema)
  if (object === null) return {}
  return Object.fromEntries(
    Object.entries(object.shape).map(([name, field]) => [name, jsonSchemaOf(field as z.ZodType)]),
  )
}

function jsonSchemaOf(schema: z.ZodType): Json {
  const { $ref, $defs, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json & {
    $ref?: string
    $defs?: Readonly<Record<string, Json>>
  }
  const named = $ref === undefined ? undefined : $defs?.[$ref.slice($ref.lastIndexOf('/') + 1)]
  return { ...named, ...json }
}

function isRequired(schema: z.ZodType | undefined, field: string): boolean {
  if (schema instanceof z.ZodOptional) return false
  const shape = objectIn(schema)?.shape as Record<string, z.ZodType> | undefined
  return shape?.[field]?.safeParse(undefined).success === false
}

function objectIn(schema: z.ZodType | undefined): z.ZodObject | null {
  if (schema instanceof z.ZodOptional) return objectIn(schema.unwrap() as z.ZodType)
  return schema instanceof z.ZodObject ? schema : null
}
