import type { z } from 'zod'
import type { Operation } from '../operation.ts'
import type { Components } from './components.ts'
import { takesIdempotencyKey } from './idempotency.ts'
import type { Json } from './json.ts'
import { answersEtag } from './responses.ts'

export function parametersOf(operation: Operation, components: Components): readonly Json[] {
  const { params, query, problems, ticket, method } = operation
  return [
    ...fieldsOf(params, 'path', components),
    ...fieldsOf(query, 'query', components),
    ...(takesIdempotencyKey(operation)
      ? [header('Idempotency-Key', 'The same key and body give the stored answer, for 24 hours.')]
      : []),
    ...(problems.includes('precondition_failed')
      ? [header('If-Match', 'The ETag of what was read; refused when it has changed since.')]
      : []),
    ...(method === 'GET' && answersEtag(operation)
      ? [header('If-None-Match', 'The ETag of what is known; the answer is 304 while it still holds.')]
      : []),
    ...(ticket === undefined ? [] : [ticketParameter]),
  ]
}

function fieldsOf(schema: z.ZodObject | undefined, place: 'path' | 'query', components: Components): readonly Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = components.plain(schema, 'input') as {
    properties?: Record<string, Json & { description?: string }>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    ...(required.includes(name) ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

function header(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } }
}

const ticketParameter = {
  name: 'ticket',
  in: 'query',
  description: 'Of `POST /auth/tickets`, with the cookie of a browser session, where no header can be sent.',
  schema: { type: 'string' },
}
