import { z } from 'zod'
import { operation } from '../operation.ts'
import { SshKeyCreate, SshKeyView } from '../schemas/access.ts'
import { ListQuery, pageOf } from '../schemas/common.ts'
import { ProjectSsh } from '../schemas/ssh.ts'
import { id, read } from './of-project.ts'

const ownSession = { kind: 'authenticated', session: true } as const

export const listSshKeys = operation({
  id: 'listSshKeys',
  method: 'GET',
  path: '/auth/ssh-keys',
  tag: 'SSH',
  summary: 'Your public keys for SSH',
  description: 'Oldest first.',
  access: ownSession,
  query: ListQuery,
  results: { 200: pageOf('SshKeyPage', SshKeyView) },
  problems: [],
})

export const addSshKey = operation({
  id: 'addSshKey',
  method: 'POST',
  path: '/auth/ssh-keys',
  tag: 'SSH',
  summary: 'Add a public key: its owner logs in with your rights',
  description: 'A key belongs to one person.',
  access: ownSession,
  body: SshKeyCreate,
  results: { 201: SshKeyView },
  problems: ['validation_failed', 'conflict'],
  audit: 'ssh_key.add',
})

export const removeSshKey = operation({
  id: 'removeSshKey',
  method: 'DELETE',
  path: '/auth/ssh-keys/{kid}',
  tag: 'SSH',
  summary: 'Remove one of your keys, at once',
  description: 'Its connections end within a second.',
  access: ownSession,
  params: z.object({ kid: z.string().max(60).describe('Id of a key: `key_…`.') }),
  results: { 204: null },
  problems: ['not_found'],
  audit: 'ssh_key.remove',
  removes: 'record',
})

export const getProjectSsh = operation({
  id: 'getProjectSsh',
  method: 'GET',
  path: '/projects/{id}/ssh',
  tag: 'SSH',
  summary: 'How to reach a project by SSH: host, user name, host key, ready commands',
  description: 'Logging in needs `operate`.',
  access: read,
  params: id,
  results: { 200: ProjectSsh },
  problems: [],
})
