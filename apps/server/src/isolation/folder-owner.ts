import { readFile } from 'node:fs/promises'
import { type EngineName, ProblemError } from '@stackquay/contract'
import { managesInstance } from '@stackquay/domain/access'
import { type Account, runAs } from '@stackquay/engines'
import { engineKind } from '../engine-kinds.ts'
import type { RequestContext } from '../http/handler.ts'
import { holdsHome } from './holds-home.ts'
import type { InstanceIsolation } from './isolation.ts'
import { findSystemUser, type SystemUser } from './system-users.ts'

export interface OwnerQuestion {
  /** Canonical: no part of it is a symbolic link. */
  readonly path: string
  readonly engine: EngineName
  readonly isolation: Pick<InstanceIsolation, 'users' | 'engine'>
  readonly context: Pick<RequestContext, 'principal'>
}

/**
 * The user that owns a folder, as a project of it may run. Whoever says `runAs: owner` hands the project all that this person
 * can do, so it takes an administrator in a browser, or a sandbox that hides the person's home. Throws the reason and what to do.
 */
export async function folderOwner(question: OwnerQuestion): Promise<Account & { readonly name: string }> {
  const { path, isolation } = question
  if (isolation.users === null)
    throw refused(
      'All projects share one user here.',
      'Leave out runAs, or start the service as root with STACKQUAY_ISOLATION=user.',
    )
  const owner = await ownerOf(path)
  await refuseUser(
    owner,
    path,
    isolation.users.all().map(({ account }) => account),
  )
  refuseEndless(question)
  refuseCaller(question, owner)
  return { uid: owner.uid, gid: owner.gid, name: owner.name }
}

async function ownerOf(path: string): Promise<SystemUser> {
  const { output, code } = await runAs(null, ['/usr/bin/stat', '--format=%u', '--', path])
  const uid = Number(output)
  if (code !== 0 || !Number.isInteger(uid)) throw refused(`Nobody can tell who owns ${path}.`, 'Check the folder.')
  if (uid === 0) throw refused(`Root owns ${path}, and nothing of a project runs as root.`, instead(path))
  const owner = await findSystemUser(uid)
  if (owner !== null) return owner
  throw refused(`The owner of ${path} has no user on this machine (uid ${uid}).`, instead(path))
}

/** Users of the machine's services and of Stackquay are nobody whom a project may be. */
async function refuseUser(owner: SystemUser, path: string, projects: readonly Account[]): Promise<void> {
  const { least, most } = await peopleOf()
  const why =
    owner.uid < least || owner.uid > most || owner.name === 'nobody'
      ? `belongs to the system: people have uids from ${least} to ${most}`
      : owner.gid === 0
        ? 'has the group of root'
        : owner.uid === process.getuid?.()
          ? 'runs the service'
          : /^(stackquay|stq-.*)$/.test(owner.name) ||
              /^s[0-9a-f]{6}-\d+$/.test(owner.name) ||
              projects.some(({ uid, isOwner }) => uid === owner.uid && isOwner !== true)
            ? 'belongs to Stackquay'
            : /\/(nologin|false)$/.test(owner.shell)
              ? 'cannot log in, so it belongs to a service of the machine'
              : null
  if (why !== null) throw refused(`The owner of ${path}, "${owner.name}" (uid ${owner.uid}), ${why}.`, instead(path))
}

/** A person's other processes have the same uid, so something else must know which are the project's. */
function refuseEndless({ engine, isolation }: OwnerQuestion): void {
  if (!isOfMachine(engine) || isolation.engine.groups !== null || isolation.engine.sandbox !== null) return
  throw refused(
    'This machine has neither control groups nor bubblewrap, so the programs of such a project could not be ended without ending others of its owner.',
    'Leave out runAs, or install bubblewrap and set STACKQUAY_ISOLATION=sandbox.',
  )
}

/** Its programs are processes of this machine, among those of their user; a container shows neither these nor their files. */
function isOfMachine(engine: EngineName): boolean {
  return engineKind(engine).capabilities.processes
}

function refuseCaller({ engine, isolation, path, context: { principal } }: OwnerQuestion, owner: SystemUser): void {
  if (principal.kind === 'session' && managesInstance(principal)) return
  const isHidden = !isOfMachine(engine) || isolation.engine.sandbox !== null
  if (isHidden && !holdsHome(path, owner.home)) return
  throw new ProblemError(
    'session_required',
    `A project that runs as "${owner.name}" can do what "${owner.name}" can do, so an administrator must ask for it in the browser.`,
    { hint: 'Log in to the web page and do it there, or leave out runAs.' },
  )
}

/** Uids that `useradd` gives to people here. */
async function peopleOf(): Promise<{ readonly least: number; readonly most: number }> {
  const text = await readFile('/etc/login.defs', 'utf8').catch(() => '')
  const number = (name: string, otherwise: number) =>
    Number(new RegExp(`^\\s*${name}\\s+(\\d+)`, 'm').exec(text)?.[1] ?? otherwise)
  return { least: number('UID_MIN', 1000), most: number('UID_MAX', 60_000) }
}

function instead(path: string): string {
  return `Leave out runAs: the project gets a user of its own, with access to ${path}. Or give the folder to a person first: chown -R <user>: ${path}`
}

function refused(detail: string, hint: string): ProblemError {
  return new ProblemError('validation_failed', detail, {
    hint,
    errors: [{ pointer: '/runAs', code: 'owner_refused', detail }],
  })
}
