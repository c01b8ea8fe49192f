import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  LoginInput,
  LoginResult,
  Me,
  PasswordChange,
  SetupInput,
  SetupState,
  TokenCreate,
  TokenCreated,
  TokenView,
} from '../schemas/access.ts'
import { ListQuery, listOf } from '../schemas/common.ts'

export const getSetup = operation({
  id: 'getSetup',
  method: 'GET',
  path: '/setup',
  tag: 'Access',
  summary: 'Whether the first administrator is still to be made',
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
  access: { kind: 'public' },
  body: SetupInput,
  results: { 201: LoginResult },
  problems: ['already_set_up', 'setup_code_wrong', 'throttled'],
  audit: 'setup.complete',
})

export const login = operation({
  id: 'login',
  method: 'POST',
  path: '/auth/login',
  tag: 'Access',
  summary: 'Log in: answers the CSRF token and sets the session cookie',
  access: { kind: 'public' },
  body: LoginInput,
  results: { 200: LoginResult },
  problems: ['login_failed', 'throttled'],
  audit: 'auth.login',
})

export const logout = operation({
  id: 'logout',
  method: 'POST',
  path: '/auth/logout',
  tag: 'Access',
  summary: 'End this session',
  access: { kind: 'authenticated', session: true },
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
  access: { kind: 'authenticated' },
  results: { 200: Me },
  problems: [],
})

export const changePassword = operation({
  id: 'changePassword',
  method: 'POST',
  path: '/auth/password',
  tag: 'Access',
  summary: 'Change your own password; ends your other sessions',
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
  access: { kind: 'authenticated', session: true },
  query: ListQuery,
  results: { 200: listOf(TokenView) },
  problems: [],
})

export const createToken = operation({
  id: 'createToken',
  method: 'POST',
  path: '/tokens',
  tag: 'Access',
  summary: 'Create an API token; its value is answered this once',
  access: { kind: 'authenticated', session: true },
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
  access: { kind: 'authenticated', session: true },
  params: z.object({ tid: z.string().max(60) }),
  results: { 204: null },
  problems: ['not_found'],
  audit: 'token.revoke',
})
