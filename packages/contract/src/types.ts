import type { z } from 'zod'
import type { OperationId, Operations } from './operations/index.ts'

type Field<O, K extends string> = K extends keyof O ? O[K] : undefined
type Output<S> = S extends z.ZodType ? z.output<S> : undefined
type Input<S> = S extends z.ZodType ? z.input<S> : undefined

/** What a handler receives, parsed: path parameters, query and body. */
export type ParsedInput<Id extends OperationId> = {
  readonly params: Output<Field<Operations[Id], 'params'>>
  readonly query: Output<Field<Operations[Id], 'query'>>
  readonly body: Operations[Id] extends { readonly bodyStream: true }
    ? AsyncIterable<Uint8Array>
    : Operations[Id] extends { readonly rawBody: true }
      ? Buffer | undefined
      : Output<Field<Operations[Id], 'body'>>
}

/** What a caller sends. Query values may be given as numbers and booleans; they become text. */
export type CallInput<Id extends OperationId> = {
  readonly params?: Input<Field<Operations[Id], 'params'>>
  readonly query?: Loose<Input<Field<Operations[Id], 'query'>>>
  readonly body?: Input<Field<Operations[Id], 'body'>>
}

type Loose<Q> = Q extends object ? { readonly [K in keyof Q]?: Q[K] | number | boolean | undefined } : undefined

type ResultSchemas<Id extends OperationId> = Operations[Id]['results']
/** Every answer that is not a problem. */
export type CallResult<Id extends OperationId> = {
  [S in keyof ResultSchemas<Id>]: ResultSchemas<Id>[S] extends z.ZodType ? z.output<ResultSchemas<Id>[S]> : undefined
}[keyof ResultSchemas<Id>]
