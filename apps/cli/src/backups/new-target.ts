import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { BackupTargetCreate } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { askHidden, isInteractive } from '../prompt.ts'

export interface AddFlags {
  readonly folder?: string
  readonly s3?: string
  readonly endpoint?: string
  readonly region?: string
  readonly prefix?: string
  readonly accessKey?: string
  readonly secretKeyFile?: string
  readonly sftp?: string
  readonly hostKey?: string
  readonly privateKeyFile?: string
  readonly passwordFile?: string
  readonly passphrase?: boolean
  readonly passphraseFile?: string
}

/** What the options say, with what is secret read from files or asked for: never from arguments, which everybody on the machine sees. */
export async function newTarget(context: Context, name: string, flags: AddFlags): Promise<BackupTargetCreate> {
  const kinds = [flags.folder, flags.s3, flags.sftp].filter((one) => one !== undefined)
  if (kinds.length !== 1) throw usageError('Where to?', 'Give one of --folder, --s3 and --sftp.')
  const passphrase = await passphraseOf(context, flags)
  return {
    name,
    ...(flags.folder === undefined ? {} : { folder: { path: resolve(context.world.cwd, flags.folder) } }),
    ...(flags.s3 === undefined ? {} : { s3: await s3Of(context, flags.s3, flags) }),
    ...(flags.sftp === undefined ? {} : { sftp: await sftpOf(context, flags.sftp, flags) }),
    ...(passphrase === undefined ? {} : { passphrase }),
  }
}

async function s3Of(context: Context, bucket: string, flags: AddFlags) {
  const { endpoint, region, prefix, accessKey } = flags
  if (accessKey === undefined) throw usageError('Which access key?', 'Give it with --access-key.')
  const secretAccessKey = await secretOf(context, flags.secretKeyFile, '--secret-key-file', 'Secret of the access key')
  return {
    bucket,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(prefix === undefined ? {} : { prefix }),
    accessKeyId: accessKey,
    secretAccessKey,
  }
}

async function sftpOf(context: Context, address: string, { hostKey, privateKeyFile, passwordFile }: AddFlags) {
  const { host, port, user, path } = sftpAddress(address)
  const login =
    privateKeyFile === undefined
      ? { password: await secretOf(context, passwordFile, '--password-file', `Password of ${user} on ${host}`) }
      : { privateKey: await contentOf(context, privateKeyFile) }
  return { host, port, user, path, ...(hostKey === undefined ? {} : { hostKey }), ...login }
}

/** `sftp://user@host:22/srv/backups`; below the user’s own folder as `sftp://user@host/~/backups`. */
function sftpAddress(address: string) {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url?.protocol !== 'sftp:' || url.username === '' || url.password !== '' || url.hostname === '')
    throw usageError(`"${address}" is no address of a folder.`, 'An example: sftp://backup@nas.lan/srv/backups')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 22 : Number(url.port),
    user: decodeURIComponent(url.username),
    path: decodeURIComponent(url.pathname).replace(/^\/~\/?(?=.)/, '') || '/',
  }
}

async function passphraseOf(context: Context, { passphrase, passphraseFile }: AddFlags): Promise<string | undefined> {
  if (passphraseFile !== undefined) return firstLine(await contentOf(context, passphraseFile))
  return passphrase === true ? secretOf(context, undefined, '--passphrase-file', 'Passphrase of the target') : undefined
}

async function secretOf(context: Context, file: string | undefined, option: string, question: string): Promise<string> {
  if (file !== undefined) return firstLine(await contentOf(context, file))
  if (!isInteractive(context.world)) throw usageError(`${question}?`, `Give a file with it: ${option} <file>`)
  return askHidden(context.world, `${question}: `)
}

async function contentOf({ world }: Context, file: string): Promise<string> {
  try {
    return await readFile(resolve(world.cwd, file), 'utf8')
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}
