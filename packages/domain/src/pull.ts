import { isDeepStrictEqual } from 'node:util'
import type { FieldError, ProjectPatch, PullDatabase, PullSource } from '@stackquay/contract'
import { sourcePathFault } from './seed.ts'
import type { ProjectSpec } from './spec.ts'

/** Where a source is. Texts of secrets are not in it. */
export type PullPlace =
  | { readonly kind: 'ssh'; readonly user: string; readonly host: string; readonly port: number }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'stackquay'; readonly origin: string; readonly host: string }

/** One thing that is fetched, and what takes its place here. */
export type PullPart =
  | { readonly id: string; readonly kind: 'database'; readonly database: string; readonly from: PullDatabase }
  | { readonly id: string; readonly kind: 'files'; readonly path: string; readonly from: string }

/** The settings of a project after a patch, with the sources that it sends in place of those that were called like them. */
export function mergePull(spec: ProjectSpec, { pull: sent }: ProjectPatch, errors: FieldError[]): ProjectSpec {
  if (sent === undefined) return spec
  const { pull: before = {}, ...rest } = spec
  if (sent === null) return rest
  const sources = new Map(Object.entries(before))
  for (const [name, source] of Object.entries(sent)) {
    if (source === null) sources.delete(name)
    else {
      const next = withoutAbsent(source)
      // One that stays as it is may name a database that was dropped since.
      if (!isDeepStrictEqual(sources.get(name), next)) errors.push(...pullFaults(`/pull/${name}`, next, spec))
      sources.set(name, next)
    }
  }
  return sources.size === 0 ? rest : { ...rest, pull: Object.fromEntries(sources) }
}

function withoutAbsent(source: PullSource): PullSource {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined)) as PullSource
}

/** Pure. Null for what is no address of a source. */
export function pullPlace(from: string): PullPlace | null {
  const url = URL.parse(from)
  if (url === null || url.search !== '' || url.hash !== '' || url.password !== '' || url.hostname === '') return null
  const host = url.hostname.replace(/^\[|\]$/g, '')
  switch (url.protocol) {
    case 'ssh:': {
      const user = decoded(url.username)
      if (user === null || !/^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$/.test(user) || !/^\/?$/.test(url.pathname)) return null
      return /^[A-Za-z0-9.:_-]+$/.test(host) && !host.startsWith('-')
        ? { kind: 'ssh', user, host, port: url.port === '' ? 22 : Number(url.port) }
        : null
    }
    case 's3:': {
      const prefix = decoded(url.pathname)?.replace(/^\/+|\/+$/g, '')
      if (prefix === undefined || url.username !== '' || url.port !== '') return null
      return /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(host) ? { kind: 's3', bucket: host, prefix } : null
    }
    case 'https:':
    case 'http:':
      if (url.username !== '' || url.pathname !== '/') return null
      return { kind: 'stackquay', origin: url.origin, host }
    default:
      return null
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

type Field = keyof PullSource

/** What a source of each kind may say beside what all may, and what it must. */
const fieldsOf: Readonly<
  Record<PullPlace['kind'], { readonly may: readonly Field[]; readonly must: readonly Field[] }>
> = {
  ssh: { may: ['key', 'passphrase', 'password', 'hostKey'], must: [] },
  s3: { may: ['endpoint', 'region', 'accessKeyId', 'secretAccessKey'], must: ['accessKeyId', 'secretAccessKey'] },
  stackquay: { may: ['project', 'token'], must: ['project', 'token'] },
}
const fieldsOfAll: readonly Field[] = ['from', 'databases', 'files']
const dumpsOf: Readonly<Record<PullPlace['kind'], readonly (keyof PullDatabase)[]>> = {
  ssh: ['command', 'path'],
  s3: ['path', 'newest'],
  stackquay: ['database'],
}

/** Pure. All that is wrong with a source. */
export function pullFaults(
  pointer: string,
  source: PullSource,
  { databases }: Pick<ProjectSpec, 'databases'>,
): readonly FieldError[] {
  const place = pullPlace(source.from)
  const error = (at: string, code: string, detail: string): FieldError => ({ pointer: `${pointer}${at}`, code, detail })
  if (place === null) {
    const forms = 'ssh://user@host:22, s3://bucket/prefix, or https://stackquay.example.com'
    return [error('/from', 'invalid_address', `A source is one of ${forms}; without passwords.`)]
  }
  const { kind } = place
  const { may, must } = fieldsOf[kind]
  const said = (Object.keys(source) as Field[]).filter((field) => source[field] !== undefined)
  const errors = [
    ...said
      .filter((field) => !fieldsOfAll.includes(field) && !may.includes(field))
      .map((field) => error(`/${field}`, 'other_kind', `"${field}" is none of ${kind}. It knows ${may.join(', ')}.`)),
    ...must
      .filter((field) => source[field] === undefined)
      .map((field) => error(`/${field}`, 'required', `A source at ${source.from} needs "${field}".`)),
  ]
  if (kind === 'ssh' && (source.key === undefined) === (source.password === undefined))
    errors.push(error('/key', 'required', 'Name the secret variable with a "key", or with a "password".'))
  if (source.endpoint !== undefined && !isEndpoint(source.endpoint))
    errors.push(error('/endpoint', 'invalid_address', 'An endpoint is like https://s3.example.com, without a path.'))
  if (said.every((field) => field !== 'databases' && field !== 'files'))
    errors.push(error('', 'required', 'Say which "databases" or "files" are fetched.'))
  for (const [name, from] of Object.entries(source.databases ?? {}))
    errors.push(...databaseFaults(`${pointer}/databases/${name}`, name, from, kind, databases))
  return [...errors, ...filesFaults(pointer, source.files ?? {})]
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.username === '' && url.search === ''
  )
}

function databaseFaults(
  pointer: string,
  name: string,
  from: PullDatabase,
  kind: PullPlace['kind'],
  databases: ProjectSpec['databases'],
): readonly FieldError[] {
  const said = (Object.keys(from) as (keyof PullDatabase)[]).filter((field) => from[field] !== undefined)
  const known = dumpsOf[kind]
  const errors: FieldError[] = []
  if (!Object.hasOwn(databases, name))
    errors.push({ pointer, code: 'unknown_database', detail: `The project has no database "${name}".` })
  if (said.length !== 1 || !known.includes(said[0]!))
    errors.push({
      pointer,
      code: 'required',
      detail: `Say where the dump of "${name}" comes from: ${known.join(' or ')}.`,
    })
  const words = [...(from.command ?? []), from.path ?? '', from.newest ?? '']
  if (words.some((word) => word.includes('\0')) || from.command?.[0] === '')
    errors.push({ pointer, code: 'invalid_path', detail: 'It has words that no command and no path can have.' })
  return errors
}

function filesFaults(pointer: string, files: Readonly<Record<string, string>>): readonly FieldError[] {
  const paths = Object.keys(files)
  return paths.flatMap((path) => {
    const at = `${pointer}/files/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const fault = (code: string, detail: string) => [{ pointer: at, code, detail }]
    const reason = sourcePathFault(path)
    if (reason !== null) return fault('invalid_path', `"${path}" ${reason}`)
    const names = namesOf(path)
    if (names[0] === '.git' || names[0] === asideFolder)
      return fault('invalid_path', `"${path}" is not a folder that is fetched.`)
    const other = paths.find((one) => one !== path && isInside(names, namesOf(one)))
    if (other !== undefined) return fault('nested', `"${path}" lies in "${other}", which is fetched too.`)
    if (/\p{Cc}/u.test(files[path] ?? '') || (files[path] ?? '').split('/').includes('..'))
      return fault('invalid_path', `"${path}" comes from a path that leads elsewhere.`)
    return []
  })
}

/** In the source of a project: what was replaced, until it is not kept any more. */
export const asideFolder = '.stackquay'
/** What pulls replaced, in the source: a way back on this machine, in no backup and no checkpoint, and touched by no restore. */
export const beforePullFolder = `${asideFolder}/before-pull`

function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

function isInside(names: readonly string[], above: readonly string[]): boolean {
  return above.length <= names.length && above.every((name, at) => names[at] === name)
}

/** Pure. What a source has, in its order, or those of it that are asked for. */
export function pullParts(source: PullSource, only?: readonly string[]): readonly PullPart[] {
  const databases = Object.entries(source.databases ?? {}).map(
    ([database, from]): PullPart => ({ id: `database:${database}`, kind: 'database', database, from }),
  )
  const files = Object.entries(source.files ?? {}).map(
    ([path, from]): PullPart => ({ id: `files:${path}`, kind: 'files', path: namesOf(path).join('/'), from }),
  )
  return [...databases, ...files].filter(({ id }) => only === undefined || only.includes(id))
}

/** Names of the variables whose texts it needs, by what they are for. */
export function pullSecrets(source: PullSource): Readonly<Record<string, string>> {
  const { token, key, passphrase, password, accessKeyId, secretAccessKey } = source
  const named = { token, key, passphrase, password, accessKeyId, secretAccessKey }
  return Object.fromEntries(Object.entries(named).filter(([, name]) => name !== undefined)) as Record<string, string>
}

/** Pure. The words of a command as a line for the shell of the machine that it is sent to, which changes none of them. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => (/^[A-Za-z0-9_/.-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
