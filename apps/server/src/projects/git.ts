import { spawn } from 'node:child_process'
import { ProblemError } from '@stackquay/contract'
import type { NetworkEnvironment } from '@stackquay/engines'
import type { StepContext } from '@stackquay/orchestrator'
import type { Account } from './account.ts'

export interface GitOptions {
  readonly cwd: string
  readonly account: Account | null
  readonly network: NetworkEnvironment
  /** As it was given. Every user of a machine reads the arguments of programs: there it stands without credentials. */
  readonly url: string
  readonly signal: AbortSignal
  readonly output?: StepContext['output']
}

/** Answers git's standard output. Fails with git's own words, credentials masked. Never asks anybody for anything. */
export function runGit(args: readonly string[], options: GitOptions): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>()
  const credentials = credentialsOf(options.url)
  const child = spawn(
    'git',
    // No hooks, no helpers and no transports that run programs named by the other side.
    [
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'credential.helper=',
      ...(credentials === null ? [] : ['-c', `credential.${credentials.origin}.helper=${credentialHelper}`]),
      '-c',
      'protocol.ext.allow=never',
      '-c',
      'safe.directory=*',
      ...args,
    ],
    {
      cwd: options.cwd,
      env: {
        ...options.network.certificates,
        ...options.network.registries,
        PATH: process.env.PATH ?? '/usr/bin:/bin',
        HOME: '/nonexistent',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_TERMINAL_PROMPT: '0',
        GIT_ASKPASS: '/bin/false',
        GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new',
        LC_ALL: 'C.UTF-8',
        ...(credentials === null
          ? {}
          : { STACKQUAY_GIT_USER: credentials.username, STACKQUAY_GIT_PASSWORD: credentials.password }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(options.account === null ? {} : { uid: options.account.uid, gid: options.account.gid }),
    },
  )
  let answer = ''
  let words = ''
  const abort = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  options.signal.addEventListener('abort', abort, { once: true })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const shown = maskIn(text, options.url)
    words = (words + shown).slice(-8192)
    options.output?.({ stream: 'stderr', text: shown.replaceAll('\r', '\n') })
  })
  child.on('error', (error: NodeJS.ErrnoException) => {
    options.signal.removeEventListener('abort', abort)
    reject(
      error.code === 'ENOENT'
        ? new ProblemError('unavailable_here', 'git is not installed on the service’s machine.', {
            hint: 'Install it: apt-get install -y git',
          })
        : error,
    )
  })
  child.on('close', (code) => {
    options.signal.removeEventListener('abort', abort)
    if (options.signal.aborted) {
      const slow = options.signal.reason instanceof DOMException && options.signal.reason.name === 'TimeoutError'
      reject(
        slow
          ? new ProblemError('source_failed', `${masked(options.url)} did not answer within 20 seconds.`, {
              hint: 'Check the address and the network.',
            })
          : options.signal.reason,
      )
    } else if (code === 0) {
      done(answer)
    } else {
      const said = lastWords(words)
      const full = /No space left on device/.test(words)
      reject(
        new ProblemError(full ? 'disk_full' : 'source_failed', `git could not read ${masked(options.url)}: ${said}`, {
          hint: full
            ? 'Free some space and try again.'
            : 'Check the address, the branch and whether it needs credentials.',
          extensions: {
            logTail: words
              .split(/[\r\n]+/)
              .filter((line) => line !== '')
              .slice(-20),
          },
        }),
      )
    }
  })
  return promise
}

/** git's fatal and error lines, without its prefix words. */
function lastWords(words: string): string {
  const lines = words.split(/[\r\n]+/).filter((line) => line.trim() !== '')
  const told = lines.filter((line) => /^(fatal|error|remote):/.test(line))
  return (told.length > 0 ? told : lines.slice(-2)).map((line) => line.replace(/^(fatal|error): /, '')).join(' ')
}

/** A URL as it may be shown and stored: user name and password are left out. */
export function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  if (parsed.username === '' && parsed.password === '') return url
  // ssh needs its user name, which is no secret.
  if (parsed.protocol !== 'ssh:') parsed.username = ''
  parsed.password = ''
  return parsed.toString()
}

export function masked(url: string): string {
  return withoutCredentials(url)
}

function maskIn(text: string, url: string): string {
  if (!URL.canParse(url)) return text
  const { username, password, protocol } = new URL(url)
  let shown = text.replaceAll(url, masked(url))
  const secrets = protocol === 'ssh:' ? [password] : [password, username]
  for (const secret of secrets) {
    if (secret.length < 3) continue
    shown = shown.replaceAll(secret, '…').replaceAll(decoded(secret), '…')
  }
  return shown
}

/** Git asks it for the one server of the URL: a redirection to another gets nothing. */
const credentialHelper =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$STACKQUAY_GIT_USER" "$STACKQUAY_GIT_PASSWORD"; }; f'

function credentialsOf(url: string): { origin: string; username: string; password: string } | null {
  if (!URL.canParse(url)) return null
  const { protocol, host, username, password } = new URL(url)
  if ((protocol !== 'http:' && protocol !== 'https:') || (username === '' && password === '')) return null
  const credentials = { origin: `${protocol}//${host}`, username: decoded(username), password: decoded(password) }
  // What the helper answers is lines.
  if (/[\r\n\0]/.test(credentials.username + credentials.password)) {
    throw new ProblemError('source_failed', `The user name or password for ${masked(url)} has a line break in it.`, {
      hint: 'Check the address.',
    })
  }
  return credentials
}

/** Percent signs that encode nothing stand for themselves. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
