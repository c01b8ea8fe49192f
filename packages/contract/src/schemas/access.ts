import { z } from 'zod'
import { scopes } from '../operation.ts'
import { tokenName } from '../shown-name.ts'
import { Time } from './common.ts'

export const ScopeSchema = z.enum(scopes)
/** Actors in the audit log that are no people. */
const reservedActors: ReadonlySet<string> = new Set(['system', 'anonymous', 'host'])

export const Username = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,38}$/, 'must be lower-case letters, digits, dot, hyphen or underscore')
  .superRefine((name, context) => {
    if (!reservedActors.has(name)) return
    const message = `must not be "${name}", which the audit log calls what no person did; choose another`
    context.addIssue({ code: 'custom', params: { code: 'reserved_name' }, message })
  })
export const Password = z.string().min(10, 'must have 10 characters or more').max(256)

export const SetupState = z.object({ needsSetup: z.boolean() }).meta({ id: 'SetupState' })
export const SetupInput = z
  .strictObject({ username: Username, password: Password, code: z.string().min(1).max(100) })
  .meta({ id: 'SetupCompletion' })
export const LoginInput = z
  .strictObject({
    username: z.string().min(1).max(100),
    password: z.string().min(1).max(256),
    deviceKey: z
      .string()
      .max(100)
      .optional()
      .describe('What an earlier log-in of this browser answered: failures of others do not count for it.'),
  })
  .meta({ id: 'LoginRequest' })

export const ProjectRole = z
  .strictObject({ project: z.string().min(1).max(60), role: ScopeSchema })
  .meta({ id: 'ProjectRole' })
const Rights = {
  role: ScopeSchema.nullable().describe('Null: none but those of `projectRoles`.'),
  projects: z.array(z.string()).describe('Ids of the projects that the role ends at; empty for all.'),
  projectRoles: z.array(ProjectRole),
} as const

export const SessionMe = z
  .object({
    kind: z.literal('session'),
    user: z.string(),
    userId: z.string(),
    ...Rights,
    mustEnrol: z
      .literal(true)
      .optional()
      .describe('A second factor is required and not set up: nothing else is allowed before.'),
  })
  .meta({ id: 'SessionIdentity' })
export const TokenMe = z
  .object({
    kind: z.literal('token'),
    name: z.string(),
    scope: ScopeSchema.describe('What the token may do now: the lower of its own scope and its owner’s role.'),
    projects: z.array(z.string()),
    user: z.string(),
  })
  .meta({ id: 'TokenIdentity' })
export const Me = z.discriminatedUnion('kind', [SessionMe, TokenMe]).meta({ id: 'Me' })
export type Me = z.infer<typeof Me>
export const LoginResult = SessionMe.extend({
  csrfToken: z
    .string()
    .describe('The second half of the session: sent as `X-CSRF-Token` with every request. Shown this once.'),
  deviceKey: z
    .string()
    .optional()
    .describe('Only when this browser is new: keep it, and send it with the next log-in. Shown this once.'),
}).meta({ id: 'Session' })

export const TicketCreate = z
  .strictObject({
    path: z
      .string()
      .min(1)
      .max(4000)
      .describe('Path and query exactly as they will be opened, `/api/v1/projects/shop/logs/download?format=text`.'),
  })
  .meta({ id: 'TicketCreate' })
export const TicketCreated = z
  .object({
    ticket: z
      .string()
      .describe('Added to that address as `ticket`; begins one answer, together with the session’s cookie.'),
    expiresAt: Time.describe('Until when it may begin. RFC 3339, UTC.'),
  })
  .meta({ id: 'Ticket' })

export const HopCreate = z
  .strictObject({
    host: z.string().min(1).max(253).describe('As the browser asked for it, without a port.'),
    path: z.string().max(2000).optional().describe('Where in it to go on. Default: `/`.'),
    secure: z.boolean().optional().describe('Over TLS, at port 443.'),
  })
  .meta({ id: 'HopCreate' })
export const Hop = z
  .object({ url: z.string().describe('Opened by the same browser, once.'), expiresAt: Time })
  .meta({ id: 'Hop' })

export const PasswordChange = z
  .strictObject({ current: z.string().min(1).max(256), new: Password })
  .meta({ id: 'PasswordChange' })

export const TokenCreate = z
  .strictObject({
    name: tokenName(),
    scope: ScopeSchema.default('operate'),
    projects: z.array(z.string().min(1).max(60)).max(200).default([]),
    expiresAt: z.iso.datetime().nullable().default(null),
  })
  .meta({ id: 'TokenCreate' })
export const TokenView = z
  .object({
    id: z.string().describe('tok_…'),
    name: z.string(),
    scope: ScopeSchema,
    projects: z.array(z.string()),
    prefix: z.string().describe('The first 8 characters, to recognise it.'),
    createdAt: Time,
    expiresAt: Time.nullable(),
    lastUsedAt: Time.nullable(),
  })
  .meta({ id: 'Token' })
export type TokenView = z.infer<typeof TokenView>
export const TokenCreated = TokenView.extend({ value: z.string().describe('The token itself, shown this once.') }).meta(
  {
    id: 'TokenCreated',
  },
)

export const UserView = z
  .object({
    id: z.string().describe('usr_…'),
    username: z.string(),
    ...Rights,
    hasPassword: z.boolean(),
    invitedUntil: Time.nullable().describe('Until when a link to set the password holds.'),
    disabled: z.boolean().describe('Cannot log in, and the user’s tokens are dead.'),
    createdAt: Time,
    secondFactors: z
      .array(z.enum(['totp', 'passkey']))
      .optional()
      .describe('Left out without one.'),
  })
  .meta({ id: 'User' })
export type UserView = z.infer<typeof UserView>
const RightsInput = {
  projects: z.array(z.string().min(1).max(60)).max(200).optional(),
  projectRoles: z.array(ProjectRole).max(200).optional(),
} as const
export const UserCreate = z
  .strictObject({
    username: Username,
    ...RightsInput,
    role: ScopeSchema.nullable().default(null),
    password: Password.optional().describe('Without it: `inviteUser` makes the link with which it is set.'),
  })
  .meta({ id: 'UserCreate' })
export const UserChange = z
  .strictObject({
    ...RightsInput,
    role: ScopeSchema.nullable().optional(),
    disabled: z.boolean().optional(),
    password: Password.optional().describe('A new password; ends the user’s sessions.'),
  })
  .meta({ id: 'UserChange' })

const inviteKind = z.enum(['invitation', 'reset'])
export const InviteCreated = z
  .object({
    kind: inviteKind,
    url: z.string().describe('Given to the person. Shown this once.'),
    expiresAt: Time,
  })
  .meta({ id: 'InviteCreated' })
export const InviteView = z.object({ kind: inviteKind, username: z.string(), expiresAt: Time }).meta({ id: 'Invite' })
export type InviteView = z.infer<typeof InviteView>
export const InviteRedeem = z.strictObject({ password: Password }).meta({ id: 'InviteRedeem' })

export const SessionView = z
  .object({
    id: z.string().describe('ses_…'),
    current: z.boolean().describe('The session of this very request.'),
    createdAt: Time,
    lastSeenAt: Time.describe('May lag a minute. RFC 3339, UTC.'),
    expiresAt: Time,
    ip: z.string().nullable(),
    userAgent: z.string().nullable(),
  })
  .meta({ id: 'SessionInfo' })
export type SessionView = z.infer<typeof SessionView>
export const SessionsEnded = z
  .object({ ended: z.int().describe('How many sessions were ended.') })
  .meta({ id: 'SessionsEnded' })

export const DeviceView = z
  .object({
    id: z.string().describe('dev_…'),
    createdAt: Time,
    lastUsedAt: Time.describe('The last log-in with its key. RFC 3339, UTC.'),
    ip: z.string().nullable().describe('Where its first log-in came from.'),
    userAgent: z.string().nullable(),
  })
  .meta({ id: 'Device' })
export type DeviceView = z.infer<typeof DeviceView>

export const SshKeyCreate = z
  .strictObject({
    publicKey: z.string().min(1).max(12_000).describe('One line, as in `id_ed25519.pub`.'),
    name: tokenName().optional().describe('Default: the key’s comment.'),
  })
  .meta({ id: 'SshKeyCreate' })

export const SshKeyView = z
  .object({
    id: z.string().describe('key_…'),
    name: z.string(),
    type: z.string().describe('ssh-ed25519'),
    fingerprint: z.string().describe('SHA256:…'),
    createdAt: Time,
    lastUsedAt: Time.nullable(),
  })
  .meta({ id: 'SshKey' })
export type SshKeyView = z.infer<typeof SshKeyView>

export const SecretKeyView = z
  .object({
    id: z.string().describe('Names the key without revealing it.'),
    source: z.enum(['file', 'environment']),
    createdAt: Time.describe('Since when it seals the secrets here. RFC 3339, UTC.'),
  })
  .meta({ id: 'SecretKey' })
export type SecretKeyView = z.infer<typeof SecretKeyView>
export const PasswordAgain = z
  .strictObject({
    password: z.string().min(1).max(256).describe('Your own password, again.'),
  })
  .meta({ id: 'PasswordConfirmation' })
export const SecretKeyRevealed = z
  .object({ id: z.string(), key: z.string().describe('32 bytes as base64.') })
  .meta({ id: 'SecretKeyRevealed' })
export const SecretKeyReplace = PasswordAgain.extend({
  key: z
    .string()
    .max(100)
    .optional()
    .describe('The new key: 32 bytes as base64 or as 64 hexadecimal digits. Without it one is made.'),
}).meta({ id: 'SecretKeyReplacement' })
export const SecretKeyReplaced = SecretKeyView.extend({
  previousId: z.string(),
  resealed: z.int().describe('How many secrets are sealed with the new key now.'),
  unreadable: z.int().describe('How many could not be opened before either, and stay as they are.'),
}).meta({ id: 'SecretKeyReplaced' })
