import { z } from 'zod'
import { operation } from '../operation.ts'
import { LoginResult } from '../schemas/access.ts'
import {
  OidcEnded,
  OidcFinish,
  OidcLink,
  OidcOffer,
  OidcPut,
  OidcSettings,
  OidcSubject,
  OidcTest,
  OidcTested,
} from '../schemas/oidc.ts'

const adminSession = { kind: 'scope', scope: 'admin', instance: true, session: true } as const
const ownSession = { kind: 'authenticated', session: true } as const
const UserParams = z.object({ uid: z.string().max(60).describe('Id of a user: `usr_…`.') })

export const getOidc = operation({
  id: 'getOidc',
  method: 'GET',
  path: '/settings/oidc',
  tag: 'Access',
  summary: 'The OpenID Connect provider that people sign in with',
  description: 'The secret is never answered.',
  access: adminSession,
  results: { 200: OidcSettings },
  problems: [],
})

export const putOidc = operation({
  id: 'putOidc',
  method: 'PUT',
  path: '/settings/oidc',
  tag: 'Access',
  summary: 'Set the provider that people sign in with',
  description: 'Another issuer or client ends the sessions of the one before.',
  access: adminSession,
  body: OidcPut,
  results: { 200: OidcSettings },
  problems: ['validation_failed', 'login_failed', 'throttled'],
  audit: 'oidc.set',
})

export const deleteOidc = operation({
  id: 'deleteOidc',
  method: 'DELETE',
  path: '/settings/oidc',
  tag: 'Access',
  summary: 'Sign nobody in by a provider any more; ends those sessions',
  description: 'Accounts stay.',
  access: adminSession,
  results: { 204: null },
  problems: ['not_found'],
  audit: 'oidc.delete',
  removes: 'record',
})

export const testOidc = operation({
  id: 'testOidc',
  method: 'POST',
  path: '/settings/oidc/test',
  tag: 'Access',
  summary: 'Ask a provider whether sign-in would work',
  description: 'Changes nothing.',
  access: adminSession,
  body: OidcTest,
  results: { 200: OidcTested },
  problems: ['not_found', 'validation_failed'],
})

export const getOidcOffer = operation({
  id: 'getOidcOffer',
  method: 'GET',
  path: '/auth/oidc',
  tag: 'Access',
  summary: 'Whether one may sign in by a provider',
  description: 'For the page of the login.',
  access: { kind: 'public' },
  results: { 200: OidcOffer },
  problems: [],
})

export const startOidc = operation({
  id: 'startOidc',
  method: 'GET',
  path: '/auth/oidc/start',
  tag: 'Access',
  summary: 'Leads a browser to the provider',
  description: 'Opened, not called. `challenge` is the S256 of a verifier that the page keeps.',
  access: { kind: 'public' },
  query: z.strictObject({
    challenge: z
      .string()
      .regex(/^[A-Za-z0-9_-]{43}$/)
      .describe('S256, base64url.'),
  }),
  results: { 303: null },
  problems: [],
})

const answered = z.string().max(4000).optional().describe('As the provider says it.')
export const callbackOidc = operation({
  id: 'callbackOidc',
  method: 'GET',
  path: '/auth/oidc/callback',
  tag: 'Access',
  summary: 'Where the provider leads back to',
  description: 'Leads on to `/login`, with a code or what went wrong in the fragment.',
  access: { kind: 'public' },
  query: z.object({ code: answered, state: answered, iss: answered, error: answered }),
  results: { 303: null },
  problems: [],
})

export const finishOidc = operation({
  id: 'finishOidc',
  method: 'POST',
  path: '/auth/oidc/finish',
  tag: 'Access',
  summary: 'Begin the session of who came back from the provider',
  description: 'The code works once, for the page that began.',
  access: { kind: 'public' },
  body: OidcFinish,
  results: { 200: LoginResult },
  problems: ['sign_in_failed'],
  audit: 'auth.oidc_login',
})

export const linkOidc = operation({
  id: 'linkOidc',
  method: 'POST',
  path: '/auth/oidc/link',
  tag: 'Access',
  summary: 'Let your own account be signed in to by the provider',
  description: 'With the code of a round as for `finishOidc`.',
  access: ownSession,
  body: OidcLink,
  results: { 204: null },
  problems: ['sign_in_failed', 'login_failed', 'throttled', 'conflict'],
  audit: 'auth.oidc_link',
})

export const logoutOidc = operation({
  id: 'logoutOidc',
  method: 'POST',
  path: '/auth/oidc/logout',
  tag: 'Access',
  summary: 'End this session, and learn where to log out at the provider',
  description: 'As `logout` for other sessions.',
  access: { ...ownSession, enrolling: true },
  results: { 200: OidcEnded },
  problems: [],
  audit: 'auth.logout',
})

export const linkUserOidc = operation({
  id: 'linkUserOidc',
  method: 'PUT',
  path: '/users/{uid}/oidc',
  tag: 'Access',
  summary: 'Link a user to a subject of the provider',
  description: 'The role here stays.',
  access: adminSession,
  params: UserParams,
  body: OidcSubject,
  results: { 204: null },
  problems: ['not_found', 'conflict', 'login_failed', 'throttled'],
  audit: 'user.oidc_link',
})

export const unlinkUserOidc = operation({
  id: 'unlinkUserOidc',
  method: 'DELETE',
  path: '/users/{uid}/oidc',
  tag: 'Access',
  summary: 'Take the link of a user away; ends the user’s sessions of the provider',
  description: 'A password goes on.',
  access: adminSession,
  params: UserParams,
  results: { 204: null },
  problems: ['not_found'],
  audit: 'user.oidc_unlink',
  removes: 'record',
})
