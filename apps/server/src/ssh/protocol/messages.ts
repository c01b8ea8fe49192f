import { z } from 'zod'

/*
 * What the service and the process that speaks SSH tell each other. The process is nearer to strangers than the service, so all that it
 * says is read by these rules.
 */

const id = z.int().nonnegative()
const connection = { connection: id }
const asked = { ...connection, ask: id }
const text = (most: number) => z.string().max(most)
/** 256 KB of a packet are the most that a client sends. */
const bytes = z.base64().max(64 << 10)

const attempt = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('key'),
    algorithm: text(100),
    key: bytes,
    /** Of RSA the hash that the client names. */
    hash: text(20).nullable(),
    /** Null: the client asks whether the key will do. */
    proof: z.strictObject({ signed: bytes, signature: bytes }).nullable(),
  }),
  z.strictObject({ kind: z.literal('password'), password: text(4096) }),
  z.strictObject({ kind: z.literal('other') }),
])

const program = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('shell') }),
  z.strictObject({ kind: z.literal('command'), command: text(256 << 10) }),
  z.strictObject({ kind: z.literal('files') }),
  z.strictObject({ kind: z.literal('terminal'), id: text(60) }),
])

const size = { cols: id, rows: id }

export const fromProtocol = z.discriminatedUnion('is', [
  /** It said its name. */
  z.strictObject({ is: z.literal('hello'), ...connection, software: text(300) }),
  z.strictObject({ is: z.literal('attempt'), ...asked, user: text(1000), by: attempt }),
  z.strictObject({ is: z.literal('ready'), ...connection }),
  z.strictObject({ is: z.literal('goodbye'), ...connection }),
  z.strictObject({ is: z.literal('gone'), ...connection }),
  /** Something is to run in a session; what was said before of its environment comes with it. */
  z.strictObject({
    is: z.literal('start'),
    ...connection,
    channel: id,
    program,
    env: z.record(text(200), text(8192)),
    pty: z.strictObject(size).nullable(),
  }),
  z.strictObject({ is: z.literal('resize'), channel: id, ...size }),
  z.strictObject({ is: z.literal('signal'), channel: id, name: text(40) }),
  z.strictObject({ is: z.literal('closed'), channel: id }),
  z.strictObject({ is: z.literal('forward'), ...asked, host: text(1000), port: id.max(65535) }),
  z.strictObject({ is: z.literal('forwarded'), ...asked }),
])

export type FromProtocol = z.infer<typeof fromProtocol>
export type Attempt = Extract<FromProtocol, { is: 'attempt' }>
export type Start = Extract<FromProtocol, { is: 'start' }>

export type ToProtocol =
  | { readonly is: 'begin'; readonly hostKey: string; readonly version: string }
  | { readonly is: 'decided'; readonly ask: number; readonly accepted: boolean }
  | { readonly is: 'refused'; readonly ask: number; readonly why: string }
  /** At once: nothing more is said to the client. */
  | { readonly is: 'cut'; readonly connection: number; readonly atOnce: boolean }
  /** How the program ended; what it said comes before. */
  | { readonly is: 'exit'; readonly channel: number; readonly exit: Exit }
  | { readonly is: 'close'; readonly channel: number }

export type Exit = { readonly code: number } | { readonly signal: string }

/** What goes with a socket or a pipe, over the other way that the two have. */
export type WithHandle =
  | { readonly is: 'connection'; readonly connection: number }
  | { readonly is: 'forward'; readonly ask: number }
  | { readonly is: 'files'; readonly channel: number; readonly end: 'in' | 'out' }
