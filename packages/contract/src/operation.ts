import type { z } from 'zod'
import type { ProblemCode } from './problems.ts'

/** What a token or a role allows; each includes those before it (specification, section 5.3). */
export const scopes = ['read', 'operate', 'admin'] as const
export type Scope = (typeof scopes)[number]

/**
 * Who may call an operation. Every operation declares one of these; the server refuses to boot otherwise.
 * `instance`: about the whole instance, closed to tokens that are restricted to projects.
 * `session`: needs a browser session; no token, whatever its scope (specification, section 5.8).
 * `enrolling`: also for people who have to set up a second factor before they may do anything else.
 * `known`: callers with valid credentials get a longer answer; wrong credentials count as none.
 * `unrestricted`: the reason is not the instance but creation: a restricted token cannot create projects.
 * `raised`: requests that need more than that. The server asks it of the parsed request, before the handler.
 */
export type Access =
  | { readonly kind: 'public'; readonly known?: true }
  | {
      readonly kind: 'authenticated'
      readonly session?: true
      readonly enrolling?: true
      readonly raised?: readonly Raise[]
    }
  | {
      readonly kind: 'scope'
      readonly scope: Scope
      readonly project?: true
      readonly instance?: true
      readonly unrestricted?: true
      readonly session?: true
      readonly raised?: readonly Raise[]
    }

/** A request of which `when` holds needs at least the scope `to`. Plain data: the OpenAPI document shows it as it is. */
export interface Raise {
  readonly to: Scope
  readonly when: {
    /** `frame`: what the caller sends on a WebSocket. */
    readonly part: 'body' | 'query' | 'frame'
    /** JSON pointers into the parsed part, `*` for any name; it holds when a value at one of them is exactly `equals`. */
    readonly pointers: readonly string[]
    readonly equals: string | boolean
  }
  /** For people, after "when": `it deletes the data of a service`. */
  readonly because: string
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Operation {
  /** Stable, camel case; the OpenAPI operationId and the client's method name. */
  readonly id: string
  readonly method: Method
  /** Below `/api/v1`, with parameters as `{id}`. */
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Media types of the body besides `application/json`. */
  readonly bodyTypes?: readonly string[]
  /** The body is of `bodyTypes` alone, of any size, and is handed on as it arrives: it is read by what needs it, and not parsed before. */
  readonly bodyStream?: true
  /** The body is handed on as the bytes that came, at most 5 MiB: they are what is signed. */
  readonly rawBody?: true
  /** Status → schema of the answer; null for an answer without a body. */
  readonly results: Readonly<Record<number, z.ZodType | null>>
  /** Media types of the answer when it is not JSON. */
  readonly resultType?: string | readonly string[]
  /** Problems it may answer besides those every operation may. */
  readonly problems: readonly ProblemCode[]
  /** Audit action of a change or of a read of secrets, `project.start`; also what refusals are recorded under. Other reads have none. */
  readonly audit?: string
  /** The answer is a stream: WebSocket frames (`frames` describes them) or server-sent events. */
  readonly stream?: 'websocket' | 'sse'
  /**
   * A browser session may begin it with a ticket in the address, where no header can be sent: `stream` and `view` are one
   * answer for one ticket; a `download` goes on under its ticket by `Range` and `If-Range`. GET alone.
   */
  readonly ticket?: 'stream' | 'view' | 'download'
  /**
   * What it can delete for good. `data`: data of databases and services, which needs scope admin, for the whole operation
   * or by `raised`. `record`: anything else, such as a variable, a domain, a caught mail, a session.
   */
  readonly removes?: 'data' | 'record'
  /** Takes `?dryRun=true` and then answers a plan with status 200, having written nothing. */
  readonly dryRun?: true
}

export function operation<const O extends Operation>(definition: O): O {
  return Object.freeze(definition)
}
