import type { IncomingMessage } from 'node:http'
import type { Address } from './address.ts'
import type { Caller } from './authenticate.ts'
import type { OpenedContent } from './objects.ts'
import type { Store } from './store.ts'

export type Owner = Extract<Caller, { readonly kind: 'owner' }>

/** One request of the owner, on its way to an answer. */
export interface Exchange {
  readonly incoming: IncomingMessage
  readonly address: Address
  readonly owner: Owner
  readonly store: Store
  /** A header; `x-amz-…` of a pre-signed URL are in its query. */
  header(name: string): string | undefined
  /** Tells a client that waits with its body to send it. */
  goOn(): void
}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | OpenedContent
}

export type Operation = (exchange: Exchange) => Answer | Promise<Answer>

export function xmlAnswer(body: string, headers: Readonly<Record<string, string | number>> = {}): Answer {
  return { status: 200, headers: { 'Content-Type': 'application/xml', ...headers }, body }
}
