import { dirname } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { type Account, existFor, runAs } from '@stackquay/engines'

/**
 * Lets a project's user work in a folder that belongs to somebody else, who keeps it: by an access control list, which is set with
 * that somebody's rights. Files that either makes are open to both. Throws `path_forbidden` with the command where that cannot be.
 */
export async function grantFolder(path: string, account: Account): Promise<void> {
  if (await mayWork(path, account)) return
  const owner = await ownerOf(path)
  if (owner === null) return
  await refuseClosedParent(path, account)
  const entries = entriesFor(account, owner.uid)
  const command = `setfacl -R -m ${entries} ${path}`
  if (!(await existFor(null, [SETFACL]))[0])
    throw refused(
      path,
      account,
      `Install the package "acl", then try again. Or give it the folder: chown -R ${account.uid} ${path}`,
    )
  if (owner.uid === 0 && !(await isRootsAlone(path)))
    throw refused(
      path,
      account,
      `Root owns it, others can change what is in it, and root changes nothing in such a folder. Give it to a person: chown -R <user>: ${path}. Or close it to others: chown -R 0 ${path} && chmod -R go-w ${path}`,
    )
  const { errors } = await runAs(actor(owner), [SETFACL, '-R', '-P', '-m', entries, '--', path])
  if (await mayWork(path, account)) return
  throw refused(
    path,
    account,
    /not supported/i.test(errors)
      ? `Its file system keeps no access lists. Move the folder to another one, or give it to the project: chown -R ${account.uid} ${path}`
      : `Allow it: ${command} (${errors || 'setfacl changed nothing'})`,
  )
}

/** Takes the access away again, as far as the owner's rights reach; what the project's user made stays readable for both. */
export async function revokeFolder(path: string, account: Account): Promise<void> {
  const owner = await ownerOf(path)
  if (owner === null || owner.uid === account.uid || !(await existFor(null, [SETFACL]))[0]) return
  // By now the project could write there, and root touches nothing by path in such a tree.
  if (owner.uid === 0) return
  const entries = [`u:${account.uid}`, `d:u:${account.uid}`, `d:u:${owner.uid}`].join(',')
  await runAs(actor(owner), [SETFACL, '-R', '-P', '-x', entries, '--', path])
}

const SETFACL = '/usr/bin/setfacl'

function entriesFor({ uid }: Account, owner: number): string {
  return [`u:${uid}:rwX`, `d:u:${uid}:rwX`, `d:u:${owner}:rwX`].join(',')
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The owner's rights and no more: what is swapped meanwhile reaches nothing that the owner could not reach. */
function actor({ uid, gid }: Owner): Owner | null {
  return uid === 0 ? null : { uid, gid }
}

async function ownerOf(path: string): Promise<Owner | null> {
  const { code, output } = await runAs(null, ['/usr/bin/stat', '--format=%u %g %F', '--', path])
  const [uid, gid, type] = output.trim().split(' ')
  return code === 0 && type === 'directory' ? { uid: Number(uid), gid: Number(gid) } : null
}

/** Nobody but root can swap anything below it while root works there. */
async function isRootsAlone(path: string): Promise<boolean> {
  const others = ['(', '!', '-uid', '0', '-o', '(', '!', '-type', 'l', '-perm', '/022', ')', ')']
  const { code, output } = await runAs(null, ['/usr/bin/find', path, '-xdev', ...others, '-print', '-quit'])
  return code === 0 && output === ''
}

const CLOSED = 'for path; do [ -x "$path" ] || { printf %s "$path"; exit; }; done'

/** Nothing is changed above the folder: whom that concerns decides it. */
async function refuseClosedParent(path: string, account: Account): Promise<void> {
  const parents: string[] = []
  for (let at = dirname(path); at !== '/'; at = dirname(at)) parents.unshift(at)
  const { output: closed } = await runAs(account, ['/bin/sh', '-c', CLOSED, 'stackquay', ...parents])
  if (closed === '') return
  throw new ProblemError('path_forbidden', `The project’s user ${nameOf(account)} may not enter ${closed}.`, {
    // One that could not be created gets another user the next time: what helps does not name this one.
    hint: `Let other users pass, without reading: chmod o+x ${closed}. For a project that exists already, its user alone: setfacl -m u:${account.uid}:x ${closed}`,
  })
}

const MAY_WORK = '[ -x "$1" ] && [ -r "$1" ] && [ -w "$1" ]'

async function mayWork(path: string, account: Account): Promise<boolean> {
  return (await runAs(account, ['/bin/sh', '-c', MAY_WORK, 'stackquay', path])).code === 0
}

function refused(path: string, account: Account, hint: string): ProblemError {
  return new ProblemError('path_forbidden', `The project’s user ${nameOf(account)} may not work in ${path}.`, { hint })
}

function nameOf({ name, uid }: Account): string {
  return name === undefined ? `(uid ${uid})` : `${name} (uid ${uid})`
}
