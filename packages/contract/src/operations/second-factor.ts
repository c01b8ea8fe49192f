import { z } from 'zod'
import { operation } from '../operation.ts'
import { LoginResult, PasswordAgain } from '../schemas/access.ts'
import {
  PasskeyAdd,
  PasskeyAdded,
  PasskeyLogin,
  PasskeyOptions,
  RecoveryCodes,
  SecondFactorReset,
  SecondFactorView,
  SecondLogin,
  TotpBegun,
  TotpConfirm,
  TotpDisable,
} from '../schemas/second-factor.ts'

/** Also for who must set up a second factor before anything else. */
const ownSession = { kind: 'authenticated', session: true, enrolling: true } as const

export const loginSecond = operation({
  id: 'loginSecond',
  method: 'POST',
  path: '/auth/login/second',
  tag: 'Access',
  summary: 'The second step of a log-in: a code, a recovery code or a passkey',
  description:
    'Exactly one of them. Wrong codes count for the user, from wherever they come, and apart from the password’s failures; a known browser has a ' +
    'counter of its own. After 100 wrong codes in a row only known browsers may try codes; passkeys and recovery codes always open.',
  access: { kind: 'public' },
  body: SecondLogin,
  results: { 200: LoginResult },
  problems: ['challenge_invalid', 'second_factor_failed', 'passkey_unavailable', 'throttled'],
  audit: 'auth.login',
})

export const beginPasskeyLogin = operation({
  id: 'beginPasskeyLogin',
  method: 'POST',
  path: '/auth/login/passkey/options',
  tag: 'Access',
  summary: 'What a browser needs to log in by a passkey',
  description: 'The same for everybody: it names nobody.',
  access: { kind: 'public' },
  results: { 200: PasskeyOptions },
  problems: ['passkey_unavailable'],
})

export const loginWithPasskey = operation({
  id: 'loginWithPasskey',
  method: 'POST',
  path: '/auth/login/passkey',
  tag: 'Access',
  summary: 'Log in by a passkey alone',
  description: 'The authenticator has to verify the person, so it is both factors.',
  access: { kind: 'public' },
  body: PasskeyLogin,
  results: { 200: LoginResult },
  problems: ['second_factor_failed', 'passkey_unavailable'],
  audit: 'auth.login',
})

export const getSecondFactor = operation({
  id: 'getSecondFactor',
  method: 'GET',
  path: '/auth/second-factor',
  tag: 'Access',
  summary: 'Your second factors',
  description: 'Never their secrets.',
  access: ownSession,
  results: { 200: SecondFactorView },
  problems: [],
})

export const beginTotp = operation({
  id: 'beginTotp',
  method: 'POST',
  path: '/auth/totp',
  tag: 'Access',
  summary: 'Make the secret of an authenticator app',
  description: 'Nothing holds before `confirm`.',
  access: ownSession,
  body: PasswordAgain,
  results: { 201: TotpBegun },
  problems: ['login_failed', 'throttled', 'conflict'],
})

export const confirmTotp = operation({
  id: 'confirmTotp',
  method: 'POST',
  path: '/auth/totp/confirm',
  tag: 'Access',
  summary: 'Turn codes on with the first of them',
  description: 'Answers recovery codes when there are none yet. Ends your other sessions.',
  access: ownSession,
  body: TotpConfirm,
  results: { 200: RecoveryCodes },
  problems: ['challenge_invalid', 'second_factor_failed', 'conflict'],
  audit: 'totp.enable',
})

export const disableTotp = operation({
  id: 'disableTotp',
  method: 'POST',
  path: '/auth/totp/disable',
  tag: 'Access',
  summary: 'Turn codes off',
  description: 'Takes the password and a code or a recovery code.',
  access: ownSession,
  body: TotpDisable,
  results: { 204: null },
  problems: ['login_failed', 'second_factor_failed', 'throttled', 'not_found'],
  audit: 'totp.disable',
  removes: 'record',
})

export const replaceRecoveryCodes = operation({
  id: 'replaceRecoveryCodes',
  method: 'POST',
  path: '/auth/recovery-codes',
  tag: 'Access',
  summary: 'Ten new recovery codes in place of the old ones',
  description: 'Needs a second factor.',
  access: ownSession,
  body: PasswordAgain,
  results: { 200: RecoveryCodes },
  problems: ['login_failed', 'throttled', 'conflict'],
  audit: 'recovery_codes.replace',
})

export const beginPasskey = operation({
  id: 'beginPasskey',
  method: 'POST',
  path: '/auth/passkeys/options',
  tag: 'Access',
  summary: 'What a browser needs to make a passkey',
  description: 'Holds for 5 minutes and this session.',
  access: ownSession,
  body: PasswordAgain,
  results: { 200: PasskeyOptions },
  problems: ['login_failed', 'throttled', 'passkey_unavailable'],
})

export const addPasskey = operation({
  id: 'addPasskey',
  method: 'POST',
  path: '/auth/passkeys',
  tag: 'Access',
  summary: 'Keep a passkey that the browser made',
  description: 'Answers recovery codes when there are none yet. Ends your other sessions.',
  access: ownSession,
  body: PasskeyAdd,
  results: { 201: PasskeyAdded },
  problems: ['second_factor_failed', 'passkey_unavailable', 'conflict'],
  audit: 'passkey.add',
})

export const removePasskey = operation({
  id: 'removePasskey',
  method: 'POST',
  path: '/auth/passkeys/{kid}/remove',
  tag: 'Access',
  summary: 'Remove one of your passkeys',
  description: 'Takes the password.',
  access: ownSession,
  params: z.object({ kid: z.string().max(60).describe('Id of a passkey: `psk_…`.') }),
  body: PasswordAgain,
  results: { 204: null },
  problems: ['login_failed', 'throttled', 'not_found'],
  audit: 'passkey.remove',
  removes: 'record',
})

export const resetSecondFactor = operation({
  id: 'resetSecondFactor',
  method: 'POST',
  path: '/users/{uid}/second-factor/reset',
  tag: 'Access',
  summary: 'Take a user’s second factors away, who has lost them',
  description: 'Ends the user’s sessions. Takes your own password.',
  access: { kind: 'scope', scope: 'admin', instance: true, session: true },
  params: z.object({ uid: z.string().max(60).describe('Id of a user: `usr_…`.') }),
  body: PasswordAgain,
  results: { 200: SecondFactorReset },
  problems: ['login_failed', 'throttled', 'not_found'],
  audit: 'user.second_factor.reset',
  removes: 'record',
})
