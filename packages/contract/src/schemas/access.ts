import { z } from 'zod'
import { scopes } from '../operation.ts'
import { Time } from './common.ts'

export const ScopeSchema = z.enum(scopes)
export const Username = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,38}$/, 'must be lower-case letters, digits, dot, hyphen or underscore')
export const Password = z.string().min(10, 'must have 10 characters or more').max(256)

export const SetupState = z.object({ needsSetup: z.boolean() }).meta({ id: 'SetupState' })
export const SetupInput = z.strictObject({ username: Username, password: Password, code: z.string().min(1).max(100) })
export const LoginInput = z.strictObject({ username: z.string().min(1).max(100), password: z.string().min(1).max(256) })

export const SessionMe = z.object({
  kind: z.literal('session'),
  user: z.string(),
  userId: z.string(),
  role: ScopeSchema,
  csrfToken: z.string(),
})
export const TokenMe = z.object({
  kind: z.literal('token'),
  name: z.string(),
  scope: ScopeSchema.describe('What the token may do now: the lower of its own scope and its owner’s role.'),
  projects: z.array(z.string()),
  user: z.string(),
})
export const Me = z.union([SessionMe, TokenMe]).meta({ id: 'Me' })
export type Me = z.infer<typeof Me>
export const LoginResult = SessionMe.meta({ id: 'Session' })

export const PasswordChange = z.strictObject({ current: z.string().min(1).max(256), new: Password })

export const TokenCreate = z
  .strictObject({
    name: z.string().trim().min(1).max(60),
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
export const TokenCreated = TokenView.extend({ value: z.string().describe('Shown this once.') }).meta({
  id: 'TokenCreated',
})
