import type { CallInput } from '@stackquay/contract'

export type TargetKind = 'folder' | 's3' | 'sftp'

/** What is typed into the form of a new backup target, as text. */
export interface TargetFields {
  readonly name: string
  readonly passphrase: string
  readonly path: string
  readonly bucket: string
  readonly endpoint: string
  readonly region: string
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly host: string
  readonly port: string
  readonly user: string
  readonly password: string
  readonly privateKey: string
  readonly hostKey: string | null
}

export const fieldsOfTarget: TargetFields = {
  name: '',
  passphrase: '',
  path: '',
  bucket: '',
  endpoint: '',
  region: '',
  prefix: '',
  accessKeyId: '',
  secretAccessKey: '',
  host: '',
  port: '22',
  user: '',
  password: '',
  privateKey: '',
  hostKey: null,
}

/** What is sent: of the chosen kind alone, and without what was left empty. */
export function bodyOfTarget(kind: TargetKind, fields: TargetFields): CallInput<'createBackupTarget'>['body'] {
  const { name, passphrase, path, port, hostKey } = fields
  const common = { name, ...given({ passphrase }) }
  switch (kind) {
    case 'folder':
      return { ...common, folder: { path } }
    case 's3': {
      const { bucket, accessKeyId, secretAccessKey, endpoint, region, prefix } = fields
      return { ...common, s3: { bucket, accessKeyId, secretAccessKey, ...given({ endpoint, region, prefix }) } }
    }
    case 'sftp': {
      const { host, user, password, privateKey } = fields
      const login = given({ password, privateKey, hostKey: hostKey ?? '' })
      return { ...common, sftp: { host, port: Number(port), user, path, ...login } }
    }
    default:
      return kind satisfies never
  }
}

function given<Name extends string>(texts: Readonly<Record<Name, string>>): { [Given in Name]?: string } {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')) as { [Given in Name]?: string }
}
