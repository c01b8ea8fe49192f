import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'
import type { GitUrl } from './git-url.ts'

export interface HostKey {
  /** `ssh-ed25519` */
  readonly type: string
  /** `SHA256:…`, as ssh-keygen(1) prints it. */
  readonly fingerprint: string
}

/** The name of a server in known_hosts, see sshd(8): the port stands in it when it is not 22. */
export function knownHostName({ host, port }: Pick<GitUrl, 'host' | 'port'>): string {
  return port === null || port === 22 ? host : `[${host}]:${port}`
}

/**
 * The keys that are remembered of a server. No link is followed: the file lies in a folder of another user, `owner`. It is
 * given back to that user when an administrator has edited it as root.
 */
export async function rememberedKeys(file: string, name: string, owner: Account | null): Promise<readonly HostKey[]> {
  let handle: FileHandle
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  try {
    const { uid, nlink } = await handle.stat()
    if (owner !== null && uid !== owner.uid && nlink === 1) await handle.chown(owner.uid, owner.gid)
    return keysIn(await handle.readFile('utf8'), name)
  } finally {
    await handle.close()
  }
}

export function keysIn(text: string, name: string): readonly HostKey[] {
  return text.split('\n').flatMap((line) => {
    const [names = '', type = '', key = ''] = line.trim().split(/\s+/)
    if (key === '' || names.startsWith('#') || names.startsWith('@') || !names.split(',').includes(name)) return []
    return [{ type, fingerprint: fingerprintOf(key) }]
  })
}

function fingerprintOf(key: string): string {
  const digest = createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

/**
 * The ssh that git starts, as a shell line. A server that is not known is believed once. One that is known must show a key
 * that is remembered: `accept-new` alone would take a key of another type without a word.
 */
export function sshCommand(options: {
  readonly knownHosts: readonly string[]
  readonly identities: readonly string[]
  readonly isKnown: boolean
  /** Keys come from this agent alone; `none` for no key at all. Absent: from the files, and those that ssh looks for itself. */
  readonly agent?: string | undefined
}): string {
  return [
    'ssh',
    '-oBatchMode=yes',
    `-oStrictHostKeyChecking=${options.isKnown ? 'yes' : 'accept-new'}`,
    quoted(`-oUserKnownHostsFile=${options.knownHosts.map(configPath).join(' ')}`),
    '-oHashKnownHosts=no',
    '-oUpdateHostKeys=no',
    '-oCheckHostIP=no',
    '-oConnectTimeout=20',
    '-oServerAliveInterval=30',
    '-oForwardAgent=no',
    '-oForwardX11=no',
    '-oClearAllForwardings=yes',
    '-oPermitLocalCommand=no',
    '-oControlMaster=no',
    '-oControlPath=none',
    // Its first level of debugging names the key that the server showed, also when that is refused.
    '-oLogLevel=DEBUG1',
    ...(options.agent === undefined
      ? options.identities.map((file) => quoted(`-oIdentityFile=${configPath(file)}`))
      : [
          quoted(`-oIdentityAgent=${options.agent === 'none' ? 'none' : configPath(options.agent)}`),
          '-oIdentityFile=none',
        ]),
  ].join(' ')
}

/** As ssh_config(5) reads it: percent signs begin a token. */
const configPath = (path: string) =>
  path.startsWith('~') ? path : `"${path.replaceAll('%', '%%').replaceAll('"', '\\"')}"`

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Reads along what ssh writes: which key the server showed, and which lines are for people. */
export function createSshLines() {
  let shown: HostKey | null = null
  let refused = false
  let added = false
  return {
    /** Whether people see the line. */
    forPeople: (line: string): boolean => {
      const key = /^debug1: Server host key: (\S+) (SHA256:\S+)/.exec(line)
      if (key !== null) shown = { type: key[1]!, fingerprint: key[2]! }
      if (/^Warning: Permanently added /.test(line)) added = true
      if (/^Host key verification failed\./.test(line)) refused = true
      return !debugging.test(line)
    },
    shown: () => shown,
    wasAdded: () => added,
    wasRefused: () => refused,
  }
}

export type SshLines = ReturnType<typeof createSshLines>

const debugging =
  /^(debug1: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: |@@@|@ {2,}|Warning: Permanently added |IT IS POSSIBLE|Someone could be|It is also possible|The fingerprint for the|SHA256:|Please contact|Add correct host key|Offending |Host key for |No \S+ host key is known|Host key verification failed)/

/** What a server’s key tells a person; shown in the progress of each clone. */
export function describeHostKey(name: string, { type, fingerprint }: HostKey, isNew: boolean): string {
  return isNew
    ? `${name} is contacted for the first time. Its host key is remembered: ${type} ${fingerprint}. Compare it with the one that its operator publishes.`
    : `${name} has the host key that is remembered: ${type} ${fingerprint}.`
}

export function hostKeyChanged(options: {
  readonly name: string
  readonly shown: HostKey | null
  readonly remembered: readonly HostKey[]
  readonly file: string
  readonly user: string | null
}): ProblemError {
  const { name, shown, remembered, file, user } = options
  const text = (key: HostKey) => `${key.type} ${key.fingerprint}`
  const forget = `${user === null ? '' : `runuser -u ${user} -- `}ssh-keygen -f ${quoted(file)} -R ${quoted(name)}`
  return new ProblemError(
    'source_failed',
    `The host key of ${name} has changed, so nothing was read from it. Remembered: ${remembered.map(text).join(', ') || 'another'}. Shown now: ${shown === null ? 'unknown' : text(shown)}.`,
    {
      hint: `Somebody may be between this machine and the server. Ask the server’s operator whether its key was replaced. If so, forget the old one: ${forget}`,
    },
  )
}
