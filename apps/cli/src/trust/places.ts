import { access, constants, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

type Argv = readonly [string, ...string[]]

/** Somewhere that a program looks for whom it trusts. */
export interface Place {
  readonly title: string
  /** Whether only an administrator of the machine may change it. */
  readonly needsRoot: boolean
  readonly add: readonly Argv[]
  readonly remove: readonly Argv[]
}

export interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  /** Whether the store of the system is one of them. */
  readonly system: boolean
}

/** The certificate in a file of the person, and the name that it has in stores. */
export interface Authority {
  readonly file: string
  readonly name: string
}

/** The places of this machine. `hints` is what could not be found, or does itself. */
export async function placesOf(
  authority: Authority,
  around: Surroundings,
): Promise<{ readonly places: readonly Place[]; readonly hints: readonly string[] }> {
  const system = around.system ? await systemPlace(authority, around) : null
  const databases = around.platform === 'linux' ? await nssDatabases(around) : []
  const hasCertutil = databases.length > 0 && (await finds('certutil', around))
  const hints = [
    ...(system === null && around.system ? ['This system has no store of trusted certificates that stq knows.'] : []),
    ...(databases.length > 0 && !hasCertutil
      ? [
          'Firefox and Chromium have stores of their own. Install certutil (libnss3-tools, nss-tools, nss), then run this again.',
        ]
      : []),
    `Node.js: export NODE_EXTRA_CA_CERTS=${quote(authority.file)}`,
    `Java: keytool -importcert -cacerts -alias ${quote(authority.name)} -file ${quote(authority.file)}`,
  ]
  const places = [
    ...(system === null ? [] : [system]),
    ...(hasCertutil ? databases.map((one) => nssPlace(authority, one)) : []),
  ]
  return { places, hints }
}

async function systemPlace({ file, name }: Authority, around: Surroundings): Promise<Place | null> {
  const { platform, env } = around
  if (platform === 'darwin') {
    const keychain = join(env.HOME ?? homedir(), 'Library/Keychains/login.keychain-db')
    return {
      title: 'Keychain of macOS',
      needsRoot: false,
      add: [['security', 'add-trusted-cert', '-r', 'trustRoot', '-k', keychain, file]],
      remove: [['security', 'remove-trusted-cert', file]],
    }
  }
  if (platform === 'win32') {
    return {
      title: 'Certificates of Windows',
      needsRoot: false,
      add: [['certutil', '-user', '-addstore', 'Root', file]],
      remove: [['certutil', '-user', '-delstore', 'Root', name]],
    }
  }
  const copied = `${name.toLowerCase().replaceAll(' ', '-')}.crt`
  const folders = [
    {
      program: 'update-ca-certificates',
      folder: '/usr/local/share/ca-certificates',
      renew: ['update-ca-certificates'],
    },
    { program: 'update-ca-trust', folder: '/etc/pki/ca-trust/source/anchors', renew: ['update-ca-trust', 'extract'] },
  ] as const
  for (const { program, folder, renew } of folders) {
    if (!(await finds(program, around)) || !(await isThere(folder))) continue
    const to = `${folder}/${copied}`
    return {
      title: 'This system',
      needsRoot: true,
      add: [['cp', file, to], ['chmod', '644', to], renew],
      remove: [['rm', '-f', to], program === 'update-ca-certificates' ? ['update-ca-certificates', '--fresh'] : renew],
    }
  }
  if (!(await finds('trust', around))) return null
  return {
    title: 'This system',
    needsRoot: true,
    add: [['trust', 'anchor', '--store', file]],
    remove: [['trust', 'anchor', '--remove', file]],
  }
}

function nssPlace({ file, name }: Authority, { title, folder }: NssDatabase): Place {
  const database = ['-d', `sql:${folder}`, '-n', name] as const
  return {
    title,
    needsRoot: false,
    add: [['certutil', '-A', ...database, '-t', 'C,,', '-i', file]],
    remove: [['certutil', '-D', ...database]],
  }
}

interface NssDatabase {
  readonly title: string
  readonly folder: string
}

async function nssDatabases({ env }: Surroundings): Promise<readonly NssDatabase[]> {
  const home = env.HOME ?? homedir()
  const shared = join(home, '.pki/nssdb')
  const profiles = [
    '.mozilla/firefox',
    'snap/firefox/common/.mozilla/firefox',
    '.var/app/org.mozilla.firefox/.mozilla/firefox',
  ]
  const found = await Promise.all(
    profiles.map(async (folder) => {
      const names = await readdir(join(home, folder)).catch(() => [])
      return names.map((name) => ({ title: `Firefox (${name})`, folder: join(home, folder, name) }))
    }),
  )
  const all = [{ title: 'Chromium', folder: shared }, ...found.flat()]
  const there = await Promise.all(all.map(({ folder }) => isThere(join(folder, 'cert9.db'))))
  return all.filter((_, index) => there[index])
}

async function finds(program: string, { env }: Surroundings): Promise<boolean> {
  // Where programs of the administrator are, which people often have not in their path.
  const folders = [...(env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/sbin', '/sbin']
  const found = await Promise.all(folders.map((folder) => isThere(join(folder, program), constants.X_OK)))
  return found.includes(true)
}

function isThere(path: string, mode = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

/** As a shell takes it. */
export function commandText(argv: readonly string[]): string {
  return argv.map(quote).join(' ')
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
