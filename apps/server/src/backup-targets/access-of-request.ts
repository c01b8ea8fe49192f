import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { type BackupTargetCreate, ProblemError } from '@stackquay/contract'
import { readHostKey, type TargetAccess } from '@stackquay/targets'
import type { Config } from '../config.ts'
import type { Model } from '../projects/model.ts'

type Body = BackupTargetCreate

/** How the target that is asked for is reached. Throws what is wrong with the request itself. */
export async function accessOf(
  { folder, s3, sftp }: Body,
  places: { readonly config: Pick<Config, 'home' | 'projectsDir'>; readonly model: Pick<Model, 'all'> },
): Promise<TargetAccess> {
  if (s3 !== undefined) return s3Access(s3)
  if (sftp !== undefined) return sftpAccess(sftp)
  const path = folder?.path ?? ''
  await refuseOurs(path, places)
  return { kind: 'folder', settings: { path } }
}

function s3Access(s3: NonNullable<Body['s3']>): TargetAccess {
  const { endpoint = null, region = 'us-east-1', bucket, prefix = '', accessKeyId, secretAccessKey } = s3
  const { pathStyle = endpoint !== null } = s3
  if (endpoint !== null) {
    const { username, password, search, hash } = new URL(endpoint)
    if (username + password + search + hash !== '')
      throw invalid('/s3/endpoint', 'Leave user name, password and query out of the address.')
  }
  const settings = { endpoint, region, bucket, prefix, pathStyle }
  return { kind: 's3', settings, credentials: { accessKeyId, secretAccessKey } }
}

async function sftpAccess(sftp: NonNullable<Body['sftp']>): Promise<TargetAccess> {
  const { host, port = 22, user, path, hostKey, password, privateKey, privateKeyPassphrase } = sftp
  if (password === undefined && privateKey === undefined)
    throw invalid('/sftp/password', 'Give a password or a private key.')
  if (hostKey === undefined) {
    const shown = await readHostKey({ host, port })
    throw new ProblemError('validation_failed', `${host} shows the key ${shown}.`, {
      hint: 'Compare it with what "ssh-keygen -l" prints there, then send it as "hostKey".',
      errors: [{ pointer: '/sftp/hostKey', code: 'host_key_unknown', detail: `${host} shows the key ${shown}.` }],
      extensions: { hostKey: shown },
    })
  }
  const credentials = {
    ...(password === undefined ? {} : { password }),
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(privateKeyPassphrase === undefined ? {} : { privateKeyPassphrase }),
  }
  return { kind: 'sftp', settings: { host, port, user, path, hostKey }, credentials }
}

/** Not in what it is to outlive, nor where programs of a project could put something in its way. */
async function refuseOurs(
  path: string,
  { config, model }: { readonly config: Pick<Config, 'home' | 'projectsDir'>; readonly model: Pick<Model, 'all'> },
): Promise<void> {
  const real = await realpath(path).catch(() => path)
  const ours = [config.home, config.projectsDir, ...model.all().map(({ row }) => row.path)]
  for (const folder of ours) {
    const there = await realpath(folder).catch(() => folder)
    if (real !== there && !real.startsWith(there + sep)) continue
    throw new ProblemError('path_forbidden', `${path} lies in ${folder}, which backups are there to outlive.`, {
      hint: 'Choose a folder on another disk, outside the home and the folders of projects.',
    })
  }
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', detail, { errors: [{ pointer, code: 'not_allowed', detail }] })
}
