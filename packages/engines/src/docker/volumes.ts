import { opendir, stat } from 'node:fs/promises'
import { type Container, EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import type { Account } from '../native/account.ts'
import { runAs } from '../native/isolation/as-user.ts'
import { chownInside, entriesAt, type Owner, textInside } from './archive.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent } from './errors.ts'
import { DATA, isManaged, type Labels, labelsOf, notManaged } from './labels.ts'
import { currentVolume } from './numbered-volumes.ts'

/** By the name of the data: its volume, and where that lies on Docker's machine. */
export type DataVolumes = ReadonlyMap<string, { readonly volume: string; readonly mountpoint: string }>

/** Makes the volumes of the container's kept data. */
export async function ensureVolumes(
  daemon: Daemon,
  project: string,
  container: Pick<Container, 'data'>,
): Promise<DataVolumes> {
  const volumes = new Map<string, { volume: string; mountpoint: string }>()
  for (const data of Object.keys(container.data)) {
    const { volume: name } = await currentVolume(daemon, project, data)
    const volume = daemon.docker.getVolume(name)
    const there = await orAbsent(volume.inspect())
    if (there !== null && !isManaged(daemon, there.Labels)) throw notManaged(`volume named ${name}`)
    if (there === null) await createVolume(daemon, project, data, name)
    volumes.set(data, { volume: name, mountpoint: (there ?? (await volume.inspect())).Mountpoint })
  }
  return volumes
}

export async function createVolume(
  daemon: Daemon,
  project: string,
  data: string,
  name: string,
  more: Labels = {},
): Promise<void> {
  await daemon.docker.createVolume({
    Name: name,
    Labels: labelsOf(daemon, project, 'volume', { ...more, [DATA]: data }),
  })
}

/**
 * A new volume has the owner of the image's directory at that path, or root where the image has none. Where the
 * container's user could not write, the empty volume becomes his. What holds anything is touched in one case: the user is the project's
 * own, and the data is another's, because it was copied or is from before projects had users of their own.
 */
export async function ownVolumes(
  daemon: Daemon,
  project: string,
  made: Dockerode.Container,
  container: Pick<Container, 'data' | 'user'>,
  volumes: DataVolumes,
): Promise<void> {
  let user: User | undefined
  for (const [data, path] of Object.entries(container.data)) {
    const account = accountOf(daemon, project, container.user)
    if (account !== null) await giveKept(daemon, volumes.get(data)?.mountpoint, account)
    const here = daemon.isLocal ? await lookHere(volumes.get(data)?.mountpoint) : 'not seen'
    const root = here === 'not seen' ? await emptyDirectory(made, path) : here
    if (root === null) continue
    user ??= await userOf(made, container.user)
    if (user.uid === 0 || mayWrite(root, user)) continue
    await chownInside(made, path, { ...user, mode: root.mode })
  }
}

type User = Omit<Owner, 'mode'>

/** The project's user, where the container runs as it; null where it runs as a user of its image. */
export function accountOf({ accounts }: Pick<Daemon, 'accounts'>, project: string, user: string): Account | null {
  const account = accounts.known(project)
  return account != null && user === `${account.uid}:${account.gid}` ? account : null
}

/**
 * Gives what a volume holds to the project's user, before its container starts. Nothing runs in it then, its path is root's alone, and
 * links are given, not followed. On a machine of its own Docker's folders cannot be reached: there the data stays as it is.
 */
async function giveKept({ isLocal }: Daemon, mountpoint: string | undefined, { uid, gid }: Account): Promise<void> {
  if (!isLocal || mountpoint === undefined || process.getuid?.() !== 0) return
  const now = await stat(mountpoint).catch(() => null)
  if (now === null || now.uid === uid || now.uid === 0) return
  const argv = ['/bin/chown', '-RhP', `--from=${now.uid}`, '--', `${uid}:${gid}`, mountpoint]
  const { code, errors } = await runAs(null, argv)
  if (code !== 0)
    throw new EngineError('io_failed', `The data in ${mountpoint} could not be given to uid ${uid}: ${errors}`, {
      hint: 'Look at the disk of Docker, then start the project again.',
    })
}

/** The same as `emptyDirectory`, in no time: for an archive, Docker mounts everything that the container has. */
async function lookHere(mountpoint: string | undefined): Promise<Owner | null | 'not seen'> {
  if (mountpoint === undefined) return 'not seen'
  try {
    const directory = await opendir(mountpoint)
    const first = await directory.read().finally(() => directory.close())
    if (first !== null) return null
    const { mode, uid, gid } = await stat(mountpoint)
    return { mode: mode & 0o7777, uid, gid }
  } catch {
    // Docker's folder is root's alone, or on a machine of its own.
    return 'not seen'
  }
}

async function emptyDirectory(made: Dockerode.Container, path: string): Promise<Owner | null> {
  let root: Owner | null = null
  for await (const { kind, mode, uid, gid } of entriesAt(made, path)) {
    if (root !== null || kind !== 'directory') return null
    root = { mode, uid, gid }
  }
  return root
}

/** Write and enter, by the first of the three that applies. */
function mayWrite(root: Owner, user: User): boolean {
  const shift = root.uid === user.uid ? 6 : root.gid === user.gid ? 3 : 0
  return ((root.mode >> shift) & 3) === 3
}

/** Names are looked up in the image's own lists. */
async function userOf(made: Dockerode.Container, text: string): Promise<User> {
  const [user = '', group] = text.split(':')
  const entry = /^\d+$/.test(user) ? null : fieldsOf(await textInside(made, '/etc/passwd'), user)
  const uid = entry === null ? Number(user) : Number(entry[2] ?? 0)
  if (group === undefined || group === '') return { uid, gid: Number(entry?.[3] ?? 0) }
  if (/^\d+$/.test(group)) return { uid, gid: Number(group) }
  return { uid, gid: Number(fieldsOf(await textInside(made, '/etc/group'), group)[2] ?? 0) }
}

function fieldsOf(list: string, name: string): string[] {
  const fields = list.split('\n').map((line) => line.split(':'))
  return fields.find(([first]) => first === name) ?? []
}
