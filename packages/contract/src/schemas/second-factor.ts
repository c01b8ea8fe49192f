import { z } from 'zod'
import { tokenName } from '../shown-name.ts'
import { Time } from './common.ts'

const Code = z.string().min(6).max(20).describe('Six digits, of now.')
const RecoveryCode = z.string().min(1).max(60)
const Password = z.string().min(1).max(256).describe('Your own, again.')

/** What the browser makes of a passkey; the service reads what it needs of it and believes none of it. */
export const PasskeyCredential = z
  .looseObject({
    id: z.string().min(1).max(2000),
    response: z.record(z.string().max(100), z.unknown()),
  })
  .describe('A `PublicKeyCredential`, by its `toJSON()`.')
  .meta({ id: 'PasskeyCredential' })
export type PasskeyCredential = z.infer<typeof PasskeyCredential>

/** For `parseRequestOptionsFromJSON` or `parseCreationOptionsFromJSON` of `PublicKeyCredential`. */
export const PasskeyOptions = z
  .record(z.string(), z.unknown())
  .describe('What the browser asks the authenticator, as JSON.')
  .meta({ id: 'PasskeyOptions' })
export type PasskeyOptions = z.infer<typeof PasskeyOptions>

export const SecondFactorAsked = z
  .object({
    challenge: z.string().describe('Sent back with the factor: works once, for 5 minutes.'),
    kinds: z.array(z.enum(['totp', 'passkey', 'recovery_code'])).describe('What opens it here.'),
    passkey: PasskeyOptions.nullable(),
    expiresAt: Time,
  })
  .meta({ id: 'SecondFactorAsked' })
export type SecondFactorAsked = z.infer<typeof SecondFactorAsked>

export const SecondLogin = z
  .strictObject({
    challenge: z.string().min(1).max(100),
    code: Code.optional(),
    recoveryCode: RecoveryCode.optional(),
    passkey: PasskeyCredential.optional(),
  })
  .meta({ id: 'SecondLogin' })

export const PasskeyLogin = z
  .strictObject({ passkey: PasskeyCredential, deviceKey: z.string().max(100).optional() })
  .meta({ id: 'PasskeyLogin' })

export const PasskeyView = z
  .object({
    id: z.string().describe('psk_…'),
    name: z.string(),
    host: z.string().describe('The host that it works for.'),
    createdAt: Time,
    lastUsedAt: Time.nullable(),
  })
  .meta({ id: 'Passkey' })
export type PasskeyView = z.infer<typeof PasskeyView>

export const SecondFactorView = z
  .object({
    required: z.boolean().describe('By the setting `requireSecondFactor`.'),
    totp: z.object({ createdAt: Time }).meta({ id: 'Totp' }).nullable(),
    passkeys: z.array(PasskeyView),
    recoveryCodesLeft: z.int(),
  })
  .meta({ id: 'SecondFactor' })
export type SecondFactorView = z.infer<typeof SecondFactorView>

export const TotpBegun = z
  .object({
    secret: z.string().describe('Base32; shown this once.'),
    uri: z.string().describe('`otpauth://…`, for a QR code.'),
    expiresAt: Time,
  })
  .meta({ id: 'TotpBegun' })
export const TotpConfirm = z.strictObject({ code: Code }).meta({ id: 'TotpConfirm' })
export const TotpDisable = z
  .strictObject({ password: Password, code: Code.optional(), recoveryCode: RecoveryCode.optional() })
  .meta({ id: 'TotpDisable' })

const codes = z.array(z.string())
export const RecoveryCodes = z
  .object({ recoveryCodes: codes.describe('Each opens once. Shown this once; empty: those of before hold.') })
  .meta({ id: 'RecoveryCodes' })

export const PasskeyAdd = z
  .strictObject({ name: tokenName(), credential: PasskeyCredential })
  .meta({ id: 'PasskeyAdd' })
export const PasskeyAdded = RecoveryCodes.extend({ passkey: PasskeyView }).meta({ id: 'PasskeyAdded' })

export const SecondFactorReset = z
  .object({ removed: z.array(z.enum(['totp', 'passkey'])) })
  .meta({ id: 'SecondFactorReset' })
