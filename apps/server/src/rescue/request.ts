import { Password } from '@stackquay/contract'
import { z } from 'zod'

const user = z.string().min(1).max(100)

/** What somebody on the host asks for. */
export const RescueRequest = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('users') }),
  z.strictObject({
    command: z.literal('reset-password'),
    user,
    /** Without it a link is made. */
    password: Password.optional(),
    enable: z.boolean().default(false),
    withoutSecondFactor: z.boolean().default(false),
  }),
  z.strictObject({ command: z.literal('end-sessions'), user: user.optional() }),
  z.strictObject({ command: z.literal('revoke-tokens'), user: user.optional() }),
])
export type RescueRequest = z.output<typeof RescueRequest>

export interface RescueUser {
  readonly username: string
  readonly role: string | null
  readonly projects: readonly string[]
  readonly projectRoles: readonly { readonly project: string; readonly role: string }[]
  readonly disabled: boolean
  readonly hasPassword: boolean
  readonly sessions: number
  readonly tokens: number
}

export type RescueResult =
  | { readonly command: 'users'; readonly users: readonly RescueUser[] }
  | {
      readonly command: 'reset-password'
      readonly user: string
      readonly link: { readonly url: string; readonly expiresAt: string } | null
      readonly enabled: boolean
      /** The factors that are gone. */
      readonly factors: readonly string[]
    }
  | { readonly command: 'end-sessions' | 'revoke-tokens'; readonly ended: number }

/** One line each way. */
export type RescueAnswer =
  | { readonly ok: true; readonly result: RescueResult }
  | { readonly ok: false; readonly detail: string }
