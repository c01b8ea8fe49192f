import { z } from 'zod'
import { operation } from '../operation.ts'
import { InviteCreated, InviteRedeem, InviteView, UserChange, UserCreate, UserView } from '../schemas/access.ts'
import { ListQuery, pageOf } from '../schemas/common.ts'
import { adminSession } from './admin-session.ts'

const UserParams = z.object({ uid: z.string().max(60).describe('Id of a user: `usr_…`.') })

export const listUsers = operation({
  id: 'listUsers',
  method: 'GET',
  path: '/users',
  tag: 'Access',
  summary: 'The people who can log in, by name',
  description: 'Disabled users are listed too.',
  access: adminSession,
  query: ListQuery,
  results: { 200: pageOf('UserPage', UserView) },
  problems: [],
})

export const createUser = operation({
  id: 'createUser',
  method: 'POST',
  path: '/users',
  tag: 'Access',
  summary: 'Let another person log in',
  description: 'With the name and password given here, or by the link of `inviteUser`. Needs `role` or `projectRoles`.',
  access: adminSession,
  body: UserCreate,
  results: { 201: UserView },
  problems: ['conflict'],
  audit: 'user.create',
})

export const getUser = operation({
  id: 'getUser',
  method: 'GET',
  path: '/users/{uid}',
  tag: 'Access',
  summary: 'One user',
  description: 'By id.',
  access: adminSession,
  params: UserParams,
  results: { 200: UserView },
  problems: ['not_found'],
})

export const changeUser = operation({
  id: 'changeUser',
  method: 'PATCH',
  path: '/users/{uid}',
  tag: 'Access',
  summary: 'Change a user’s roles, disable or enable, set a new password',
  description:
    'Holds for the very next request, also of the user’s tokens, and ends open streams within a second. ' +
    'A new password ends the user’s sessions, but not the one that sets it. Lists are replaced whole.',
  access: adminSession,
  params: UserParams,
  body: UserChange,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: UserView },
  problems: ['not_found', 'last_admin'],
  audit: 'user.change',
})

export const inviteUser = operation({
  id: 'inviteUser',
  method: 'POST',
  path: '/users/{uid}/invite',
  tag: 'Access',
  summary: 'Make a link with which a user sets a password',
  description: 'It holds 48 hours, once, and ends an earlier one. Until it is used an old password holds.',
  access: adminSession,
  params: UserParams,
  results: { 201: InviteCreated },
  problems: ['not_found', 'conflict'],
  audit: 'user.invite',
})

const InviteParams = z.object({ token: z.string().max(100).describe('What stands behind `#` in the link.') })

export const getInvite = operation({
  id: 'getInvite',
  method: 'GET',
  path: '/invites/{token}',
  tag: 'Access',
  summary: 'Whom a link is for',
  description: 'Uses nothing up.',
  access: { kind: 'public' },
  params: InviteParams,
  results: { 200: InviteView },
  problems: ['not_found', 'throttled'],
})

export const redeemInvite = operation({
  id: 'redeemInvite',
  method: 'POST',
  path: '/invites/{token}',
  tag: 'Access',
  summary: 'Set a password by a link',
  description: 'Uses the link up and ends all sessions of the user. Then log in.',
  access: { kind: 'public' },
  params: InviteParams,
  body: InviteRedeem,
  results: { 204: null },
  problems: ['not_found', 'throttled', 'unavailable'],
  audit: 'user.redeem_invite',
})

export const deleteUser = operation({
  id: 'deleteUser',
  method: 'DELETE',
  path: '/users/{uid}',
  tag: 'Access',
  summary: 'Delete a user with all tokens and sessions; projects stay',
  description: 'Holds for the next request of the user.',
  access: adminSession,
  params: UserParams,
  results: { 204: null },
  problems: ['not_found', 'last_admin'],
  audit: 'user.delete',
  removes: 'record',
})
