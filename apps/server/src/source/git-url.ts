import { ProblemError } from '@stackquay/contract'

/** Where a repository is. Made only by `parseGitUrl`: what stands here is safe to hand to git as an argument. */
export interface GitUrl {
  readonly protocol: 'http' | 'https' | 'ssh' | 'git'
  /** For git, for people and for storage: without user name and password, but SSH’s user name, which is no secret. */
  readonly url: string
  /** `https://example.org:8443`: the one server that gets the credentials. */
  readonly origin: string
  readonly host: string
  /** Null: the protocol’s own. */
  readonly port: number | null
  readonly credentials: { readonly username: string; readonly password: string } | null
  /** Texts that no output may show, in each encoding in which they were given. */
  readonly secrets: readonly string[]
}

/**
 * Reads the address of a repository before any program sees it. Git, curl and ssh each read addresses in a way of their own;
 * only what all of them read alike is accepted. Throws `source_failed` at once for everything else.
 */
export function parseGitUrl(text: string): GitUrl {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(text))
    throw refused(null, 'has control characters or invisible ones in it', usual)
  if (text !== text.trim() || text === '') throw refused(null, 'is empty or has spaces around it', usual)
  if (text.startsWith('-')) throw refused(null, 'begins with a hyphen, which git reads as an option', usual)
  if (text.includes('\\')) throw refused(null, 'has a backslash in it', 'Use "/" between the parts of a path.')
  const scheme = /^([A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]
  if (scheme !== undefined) return withScheme(scheme.toLowerCase(), text.slice(scheme.length + 3))
  const helper = /^([A-Za-z0-9+.-]*)::/.exec(text)?.[1]
  if (helper !== undefined) throw refused(null, `names the transport "${short(helper)}::", which runs a program`, usual)
  if (/^[^/]+:/.test(text)) return shortForm(text)
  throw refused(null, 'is a path of this machine, not a URL', localFolder)
}

/** A URL as it may be shown and stored. */
export function withoutCredentials(text: string): string {
  return parseGitUrl(text).url
}

const usual = 'Use an https, http, ssh or git URL, or the short form user@host:path.'
const localFolder = 'Use an existing folder as the project instead ("path"), or serve the repository over HTTP or SSH.'

function withScheme(scheme: string, rest: string): GitUrl {
  switch (scheme) {
    case 'http':
    case 'https':
      return overHttp(scheme, rest)
    case 'ssh':
      return overSsh(rest)
    case 'git':
      return overGit(rest)
    case 'file':
      throw refused(null, 'is a file of this machine', localFolder)
    case 'git+ssh':
    case 'ssh+git':
      throw refused(null, `has the old scheme "${scheme}"`, 'Write ssh:// instead.')
    default:
      throw refused(null, `has the scheme "${short(scheme)}", which is not allowed`, usual)
  }
}

interface Authority {
  readonly user: string | null
  readonly password: string | null
  readonly host: string
  readonly port: number | null
  readonly path: string
}

function authorityOf(rest: string): Authority {
  const end = rest.search(/[/?#]/)
  const authority = end === -1 ? rest : rest.slice(0, end)
  const path = end === -1 ? '' : rest.slice(end)
  const at = authority.lastIndexOf('@')
  const info = at === -1 ? null : authority.slice(0, at)
  if (info?.includes('@'))
    throw refused(null, 'has more than one "@" before the path', 'Write an "@" of a user name or password as %40.')
  const server = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]*)(?::(\d*))?$/.exec(authority.slice(at + 1))
  const host = server?.[1] ?? ''
  if (server === null || !isHost(host))
    throw refused(null, 'names no server that exists', 'Check the part after "://".')
  const port = server[2] === undefined || server[2] === '' ? null : Number(server[2])
  if (port !== null && (port < 1 || port > 65535))
    throw refused(null, 'has a port outside 1 to 65535', 'Check the port.')
  const colon = info === null ? -1 : info.indexOf(':')
  return {
    user: info === null ? null : colon === -1 ? info : info.slice(0, colon),
    password: info === null || colon === -1 ? null : info.slice(colon + 1),
    host,
    port,
    path,
  }
}

/** Never one that begins with a hyphen: ssh would read it as an option. */
function isHost(host: string): boolean {
  return host.length <= 255 && /^(\[[0-9A-Fa-f:.]+\]|[\p{L}\p{N}_]([\p{L}\p{N}._-]*[\p{L}\p{N}_])?\.?)$/u.test(host)
}

function overHttp(protocol: 'http' | 'https', rest: string): GitUrl {
  const { user, password, host, port, path } = authorityOf(rest)
  if (/[?#]/.test(path))
    throw refused(
      null,
      'has "?" or "#" in it, which no address of a repository has',
      'Take the address that the server shows for cloning.',
    )
  const origin = `${protocol}://${host}${port === null ? '' : `:${port}`}`
  const url = `${origin}${path}`
  if ((user ?? '') === '' && (password ?? '') === '')
    return { protocol, url, origin, host, port, credentials: null, secrets: [] }
  const credentials = { username: decoded(user ?? ''), password: decoded(password ?? '') }
  // They are handed to git as lines.
  if (/[\r\n\0]/.test(credentials.username + credentials.password))
    throw refused(url, 'has a line break in its user name or password', 'Check the address.')
  const secrets = [password ?? '', credentials.password, user ?? '', credentials.username].filter(
    (one) => one.length >= 3,
  )
  return { protocol, url, origin, host, port, credentials, secrets: [...new Set(secrets)] }
}

function overSsh(rest: string): GitUrl {
  const { user, password, host, port, path } = authorityOf(rest)
  const origin = `ssh://${host}${port === null ? '' : `:${port}`}`
  if (password !== null)
    throw refused(
      `${origin}${path}`,
      'has a password in it, which SSH does not take from an address',
      'Use a key, or the https URL.',
    )
  if (user !== null && !isUser(decoded(user)))
    throw refused(null, 'has a user name that SSH does not take', 'Check it.')
  if (!path.startsWith('/') || path === '/')
    throw refused(null, 'has no path of a repository', 'Write ssh://user@host/path.')
  const url = `ssh://${user === null ? '' : `${user}@`}${host}${port === null ? '' : `:${port}`}${path}`
  return { protocol: 'ssh', url, origin, host: bare(host), port, credentials: null, secrets: [] }
}

function overGit(rest: string): GitUrl {
  const { user, host, port, path } = authorityOf(rest)
  const origin = `git://${host}${port === null ? '' : `:${port}`}`
  if (user !== null)
    throw refused(`${origin}${path}`, 'has a user name, which git:// does not know', 'Use https or ssh.')
  return { protocol: 'git', url: `${origin}${path}`, origin, host, port, credentials: null, secrets: [] }
}

/** `user@host:path`, as scp(1) has it. */
function shortForm(text: string): GitUrl {
  const match = /^(?:([^@/:]+)@)?(\[[0-9A-Fa-f:.]+\]|[^@/:[\]]+):(.+)$/s.exec(text)
  if (match === null) throw refused(null, 'cannot be read', 'Write ssh://user@host:port/path.')
  const [, user, host = '', path = ''] = match
  if (!isHost(host)) throw refused(null, 'names no server that exists', usual)
  if (user !== undefined && !isUser(user)) throw refused(null, 'has a user name that SSH does not take', 'Check it.')
  if (path.startsWith('-') || path.startsWith(':')) throw refused(null, 'has a path that begins with "-" or ":"', usual)
  return {
    protocol: 'ssh',
    url: text,
    origin: `ssh://${host}`,
    host: bare(host),
    port: null,
    credentials: null,
    secrets: [],
  }
}

function isUser(user: string): boolean {
  return /^[\p{L}\p{N}_.][\p{L}\p{N}_.+@-]*$/u.test(user)
}

const bare = (host: string) => host.replace(/^\[|\]$/g, '').toLowerCase()

/** Percent signs that encode nothing stand for themselves. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

/** Never with the address as it was given, which may hold a password. */
function refused(url: string | null, why: string, hint: string): ProblemError {
  return new ProblemError('source_failed', `The address of the repository ${url === null ? '' : `(${url}) `}${why}.`, {
    hint,
  })
}
