import type { Operation } from '@stackquay/contract'
import type { FrameSocket, Reply, RequestContext } from './handler.ts'

/** The types of handlers are checked where they are written; behind the binder all are alike. */
export type AnyInput = { readonly params: never; readonly query: never; readonly body: never }
export type AnyHandler = (input: AnyInput, context: RequestContext) => Promise<Reply<unknown>>
export type AnyStreamHandler = (input: AnyInput, context: RequestContext, socket: FrameSocket) => Promise<void>

export type Bound =
  | { readonly kind: 'call'; readonly operation: Operation; readonly handler: AnyHandler }
  | { readonly kind: 'websocket'; readonly operation: Operation; readonly handler: AnyStreamHandler }
  | { readonly kind: 'own'; readonly operation: Operation }

export interface BindInput {
  readonly operations: readonly Operation[]
  readonly handlers: Readonly<Record<string, unknown>>
  readonly streams: Readonly<Record<string, unknown>>
  /** Operations that the app answers itself. */
  readonly own: readonly string[]
}

/**
 * Joins the table of operations and the handlers. Throws, naming the operation, when one lacks its declaration of access
 * or its handler, and when a handler stands for no operation: the server must not boot then.
 */
export function bindOperations({ operations, handlers, streams, own }: BindInput): readonly Bound[] {
  const bound = operations.map((operation) => {
    if (!accessKinds.includes(operation.access?.kind)) {
      throw new BindError(`Operation "${operation.id}" does not declare who may call it ("access").`)
    }
    if (own.includes(operation.id)) return { kind: 'own', operation } as const
    if (operation.stream === 'websocket') {
      return {
        kind: 'websocket',
        operation,
        handler: find<AnyStreamHandler>(streams, operation, 'stream handler'),
      } as const
    }
    return { kind: 'call', operation, handler: find<AnyHandler>(handlers, operation, 'handler') } as const
  })
  refuseStrangers(Object.keys(handlers), bound, 'call')
  refuseStrangers(Object.keys(streams), bound, 'websocket')
  return bound
}

export class BindError extends Error {
  override readonly name = 'BindError'
}

const accessKinds: readonly unknown[] = ['public', 'authenticated', 'scope']

function find<H>(table: Readonly<Record<string, unknown>>, { id }: Operation, what: string): H {
  const handler = Object.hasOwn(table, id) ? table[id] : undefined
  if (typeof handler === 'function') return handler as H
  throw new BindError(`Operation "${id}" has no ${what}.`)
}

function refuseStrangers(ids: readonly string[], bound: readonly Bound[], kind: Bound['kind']): void {
  for (const id of ids) {
    if (!bound.some((one) => one.kind === kind && one.operation.id === id)) {
      throw new BindError(`The handler "${id}" stands for no operation of its kind.`)
    }
  }
}
