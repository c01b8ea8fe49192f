import type { LookupFunction } from 'node:net'
import type { NotificationText } from '@stackquay/domain'
import { z } from 'zod'

/** A message on its way: the words, and what channels need beside them. */
export interface OutgoingMessage extends NotificationText {
  /** The same in every attempt: whoever remembers it sees a repetition as one. */
  readonly id: string
  readonly tone: 'good' | 'bad' | 'neutral'
  readonly urgent: boolean
  readonly at: string
  /** Where the page shows more of it. */
  readonly link: string
}

export interface SendOutcome {
  /** Of the answer; null when there was none. */
  readonly status: number | null
  /** Why it does not count as received; null when it does. May hold what the receiver answered. */
  readonly error: string | null
  /** So long the receiver wants to be left alone. */
  readonly retryAfterSeconds: number | null
}

/** The ways out that channels have. Both refuse addresses that only this machine may ask. */
export interface Outside {
  readonly signal: AbortSignal
  /** Posts JSON. Follows no redirects, checks certificates, ends after a while. */
  post(url: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<PostAnswer>
  readonly lookup: LookupFunction
}

export interface PostAnswer extends SendOutcome {
  /** The beginning of what was answered. */
  readonly answer: string
}

/** A kind of channel. Nobody outside its folder asks for a kind by its name. */
export interface ChannelKind<Schema extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly label: string
  /** What is secret is `writeOnly`: sealed, and never answered. */
  readonly settings: Schema
  /** Settings that say where messages go: whoever changes one gives the secrets again. */
  readonly destinations: readonly string[]
  /** Where it leads, for people; nothing secret. */
  address(settings: z.infer<Schema>): string
  send(message: OutgoingMessage, settings: z.infer<Schema>, outside: Outside): Promise<SendOutcome>
}

/** Keeps the settings' types inside a kind. */
export function channelKind<Schema extends z.ZodObject>(kind: ChannelKind<Schema>): ChannelKind {
  return kind as unknown as ChannelKind
}

const noUser = 'must have no user name and password'

/** An address that messages are posted to. */
export function addressSetting(description: string) {
  return z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(2000)
    .refine((url) => {
      const parsed = URL.parse(url)
      return parsed === null || (parsed.username === '' && parsed.password === '')
    }, noUser)
    .meta({ description })
}

export function secretAddress(description: string) {
  return addressSetting(description).meta({ description, writeOnly: true })
}

export function secretText(description: string) {
  return z
    .string()
    .min(1)
    .max(500)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
    .meta({ description, writeOnly: true })
}

export function textSetting(description: string, most = 200) {
  // Nothing of it may end a line of a mail's head.
  return z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\p{Cc}]+$/u, 'must have no control characters')
    .meta({ description })
}

/** Of an address that may hold a key: who is asked, never for what. */
export function hostOf(url: string): string {
  return new URL(url).host
}

/** Below an address that may have a path of its own. */
export function under(url: string, path: string): string {
  const base = new URL(url)
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`
  base.search = ''
  base.hash = ''
  return base.href
}

/** At most so many characters, never half of one. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
