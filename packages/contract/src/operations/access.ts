import { z } from 'zod'
import { operation, type Raise, type Scope } from '../operation.ts'
import {
  DeviceView,
  Hop,
  HopCreate,
  LoginInput,
  LoginResult,
  Me,
  PasswordAgain,
  PasswordChange,
  SecretKeyReplace,
  SecretKeyReplaced,
  SecretKeyRevealed,
  SecretKeyView,
  SessionsEnded,
  SessionView,
  SetupInput,
  SetupState,
  TicketCreate,
  TicketCreated,
  TokenCreate,
  TokenCreated,
  TokenView,
} from '../schemas/access.ts'
import { ListQuery, pageOf } from '../schemas/common.ts'
import { SecondFactorAsked } from '../schemas/second-factor.ts'
import { adminSession } from './admin-session.ts'

export const getSetup = operation({
  id: 'getSetup',
  method: 'GET',
  path: '/setup',
  tag: 'Access',
  summary: 'Whether the first administrator must still be created',
  description: 'The page asks this before it shows the login.',
  access: { kind: 'public' },
  results: { 200: SetupState },
  problems: [],
})

export const completeSetup = operation({
  id: 'completeSetup',
  method: 'POST',
  path: '/setup',
  tag: 'Access',
  summary: 'Make the first administrator with the one-time code, and log in',
  description: 'Possible once, while there is no user.',
  access: { kind: 'public' },
  body: SetupInput,
  results: { 201: LoginResult },
  problems: ['already_set_up', 'setup_code_wrong', 'throttled', 'unavailable'],
  audit: 'setup.complete',
})

export const login = operation({
  id: 'login',
  method: 'POST',
  path: '/auth/login',
  tag: 'Access',
  summary: 'Log in: sets the session’s cookie and answers its key',
  description:
    'A session has two halves: the cookie, and `csrfToken`, which is answered this once and sent as `X-CSRF-Token` with every request, GET included. ' +
    'One without the other is no session. ' +
    'Failures count for the browser when it sends a `deviceKey` that is known, else for the user and the network (/24, or /64 ' +
    'of IPv6). After the first failure answers wait 1, 2, 4 and 8 s; then the answer is `throttled` for 30 s to 15 minutes. ' +
    'A right password with a known device key is never refused for failures of others. ' +
    'With a second factor the answer is 202, and `/auth/login/second` logs in.',
  access: { kind: 'public' },
  body: LoginInput,
  results: { 200: LoginResult, 202: SecondFactorAsked },
  problems: ['login_failed', 'throttled', 'unavailable'],
  audit: 'auth.login',
})

export const logout = operation({
  id: 'logout',
  method: 'POST',
  path: '/auth/logout',
  tag: 'Access',
  summary: 'End this session',
  description: 'The cookie and the CSRF token stop working at once.',
  access: { kind: 'authenticated', session: true, enrolling: true },
  results: { 204: null },
  problems: [],
  audit: 'auth.logout',
})

export const getMe = operation({
  id: 'getMe',
  method: 'GET',
  path: '/auth/me',
  tag: 'Access',
  summary: 'Who is calling: of a token its name, scope and projects',
  description: 'The answer has one shape for tokens and one for sessions; `kind` tells them apart.',
  access: { kind: 'authenticated', enrolling: true },
  results: { 200: Me },
  problems: [],
})

export const changePassword = operation({
  id: 'changePassword',
  method: 'POST',
  path: '/auth/password',
  tag: 'Access',
  summary: 'Change your own password; ends your other sessions',
  description: 'Asks for the present password.',
  access: { kind: 'authenticated', session: true },
  body: PasswordChange,
  results: { 204: null },
  problems: ['login_failed', 'throttled'],
  audit: 'auth.password',
})

export const listTokens = operation({
  id: 'listTokens',
  method: 'GET',
  path: '/tokens',
  tag: 'Access',
  summary: 'Your API tokens',
  description: 'Values are never listed.',
  access: { kind: 'authenticated', session: true },
  query: ListQuery,
  results: { 200: pageOf('TokenPage', TokenView) },
  problems: [],
})

/** A token never has more rights than its owner. */
const needsItself = (scope: Scope): Raise => ({
  to: scope,
  when: { part: 'body', pointers: ['/scope'], equals: scope },
  because: `the token gets scope ${scope}`,
})

export const createToken = operation({
  id: 'createToken',
  method: 'POST',
  path: '/tokens',
  tag: 'Access',
  summary: 'Create an API token; its value is answered this once',
  description: 'Keep the value: the service stores only its hash.',
  access: { kind: 'authenticated', session: true, raised: [needsItself('operate'), needsItself('admin')] },
  body: TokenCreate,
  results: { 201: TokenCreated },
  problems: ['conflict', 'role_insufficient'],
  audit: 'token.create',
})

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'DELETE',
  path: '/tokens/{tid}',
  tag: 'Access',
  summary: 'Revoke an API token, at once',
  description: 'Holds for the next request; open streams of the token end within a second.',
  access: { kind: 'authenticated', session: true },
  params: z.object({ tid: z.string().max(60).describe('Id of a token: `tok_…`.') }),
  results: { 204: null },
  problems: ['not_found'],
  audit: 'token.revoke',
  removes: 'record',
})

const ownSession = { kind: 'authenticated', session: true } as const

export const createTicket = operation({
  id: 'createTicket',
  method: 'POST',
  path: '/auth/tickets',
  tag: 'Access',
  summary: 'Let this session’s browser open one address that takes no header',
  description:
    'For WebSockets, server-sent events and what a browser shows or saves by itself. The ticket is for exactly that path, that query and this ' +
    'session, and begins one answer within 30 seconds. A download may go on under it by `Range` with `If-Range` for an hour. ' +
    'Requests with a bearer token need none.',
  access: ownSession,
  body: TicketCreate,
  results: { 201: TicketCreated },
  problems: [],
})

export const openServicePage = operation({
  id: 'openServicePage',
  method: 'POST',
  path: '/auth/hops',
  tag: 'Access',
  summary: 'Let this session’s browser in to the page of a service, or to a project with the rule `signIn`',
  description:
    'The answer’s `url` works once, within 30 seconds, and gives the browser a cookie of that host. It holds no longer than this session and ' +
    'the right to operate projects, or to read that one.',
  access: { kind: 'authenticated', session: true },
  body: HopCreate,
  results: { 201: Hop },
  problems: ['not_found', 'role_insufficient', 'unavailable'],
  audit: 'service.page.open',
})

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: '/auth/sessions',
  tag: 'Access',
  summary: 'Where you are logged in',
  description: 'Newest first; `current` marks the session of this request.',
  access: ownSession,
  query: ListQuery,
  results: { 200: pageOf('SessionPage', SessionView) },
  problems: [],
})

export const endSession = operation({
  id: 'endSession',
  method: 'DELETE',
  path: '/auth/sessions/{sid}',
  tag: 'Access',
  summary: 'End one of your sessions, at once',
  description: 'Its open streams end within a second.',
  access: ownSession,
  params: z.object({ sid: z.string().max(60).describe('Id of a session: `ses_…`.') }),
  results: { 204: null },
  problems: ['not_found'],
  audit: 'session.end',
  removes: 'record',
})

export const endOtherSessions = operation({
  id: 'endOtherSessions',
  method: 'DELETE',
  path: '/auth/sessions',
  tag: 'Access',
  summary: 'End all of your sessions but this one',
  description: 'Their open streams end within a second.',
  access: ownSession,
  results: { 200: SessionsEnded },
  problems: [],
  audit: 'session.end_others',
  removes: 'record',
})

export const listDevices = operation({
  id: 'listDevices',
  method: 'GET',
  path: '/auth/devices',
  tag: 'Access',
  summary: 'The browsers that you have logged in with',
  description: 'Newest first.',
  access: ownSession,
  query: ListQuery,
  results: { 200: pageOf('DevicePage', DeviceView) },
  problems: [],
})

export const forgetDevice = operation({
  id: 'forgetDevice',
  method: 'DELETE',
  path: '/auth/devices/{did}',
  tag: 'Access',
  summary: 'Forget a browser: its next log-in counts like one from a new browser',
  description: 'Sessions of that browser go on.',
  access: ownSession,
  params: z.object({ did: z.string().max(60).describe('Id of a device: `dev_…`.') }),
  results: { 204: null },
  problems: ['not_found'],
  audit: 'device.forget',
  removes: 'record',
})

export const getSecretKey = operation({
  id: 'getSecretKey',
  method: 'GET',
  path: '/settings/secret-key',
  tag: 'Access',
  summary: 'Which key seals the secrets: its id and where it comes from',
  description: 'Never answers the key itself.',
  access: adminSession,
  results: { 200: SecretKeyView },
  problems: [],
})

export const revealSecretKey = operation({
  id: 'revealSecretKey',
  method: 'POST',
  path: '/settings/secret-key/reveal',
  tag: 'Access',
  summary: 'Show the secret key, to keep it in a safe place; asks for your password again',
  description: 'The answer is never stored and the read is audited.',
  access: adminSession,
  body: PasswordAgain,
  results: { 200: SecretKeyRevealed },
  problems: ['login_failed', 'throttled'],
  audit: 'secret_key.reveal',
})

export const replaceSecretKey = operation({
  id: 'replaceSecretKey',
  method: 'POST',
  path: '/settings/secret-key/replace',
  tag: 'Access',
  summary: 'Seal every secret with a new key; asks for your password again',
  description:
    'All or nothing: a service that is ended in the middle continues with the old key or the new one. ' +
    'Backups made before need the old key.',
  access: adminSession,
  body: SecretKeyReplace,
  results: { 200: SecretKeyReplaced },
  problems: ['login_failed', 'throttled', 'secret_key_external'],
  audit: 'secret_key.replace',
})
