import { randomBytes } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import { byTheService, type NewAuditEntry, type ProjectRow, type ShareRow, type Store } from '@stackquay/store'
import { changed } from '../addresses/domain-handlers.ts'
import type { RequestContext } from '../http/handler.ts'
import { listenerPortName } from '../network/share-listener.ts'

export type NewShare = Omit<ShareRow, 'actor' | 'createdAt' | 'detail'>

/** A share with its port, audit entry and event. Throws `conflict` where one is that goes on, by `isOver`. */
export function writeShare(
  wanted: NewShare,
  /** One of these is leased for what brings people in from outside; none for a share that they come to directly. */
  ports: readonly number[] | null,
  isOver: (share: ShareRow) => boolean,
  context: RequestContext,
  store: Store,
): Promise<{ readonly share: ShareRow; readonly port: number | null }> {
  return store.transaction(async (tx) => {
    const row = await store.projects.find(wanted.project)
    if (row === null) throw new ProblemError('not_found', 'The project is gone.')
    const before = await store.network.share(row.id)
    if (before !== null && !isOver(before)) throw oneIsThere(before)
    const share = await tx.network.putShare({ ...wanted, actor: context.actor })
    if (before !== null) {
      await tx.ports.release(row.id, before.id)
      await tx.audit.append(expired(before, row))
    }
    const port = ports === null ? null : await tx.ports.lease(row.id, share.id, listenerPortName, ports)
    const changes = { after: recorded(share) }
    await tx.audit.append(context.audit({ action: 'share.create', target: row.slug, project: row.id, changes }))
    await tx.events.append(changed(row))
    return { share, port }
  })
}

/** Throws `not_found` when there is none. */
export function writeEnd(project: ProjectRow, context: RequestContext, store: Store): Promise<ShareRow> {
  return store.transaction(async (tx) => {
    const found = await store.network.share(project.id)
    if (found === null) throw new ProblemError('not_found', `The project "${project.slug}" has no share.`)
    await tx.network.deleteShare(found.id)
    await tx.ports.release(project.id, found.id)
    const changes = { before: recorded(found) }
    const about = { action: 'share.end', target: project.slug, project: project.id, changes }
    await tx.audit.append(context.audit(about))
    await tx.events.append(changed(project))
    return found
  })
}

/** Its time is over. One that was ended or replaced meanwhile is gone already. */
export async function writeExpiry(share: ShareRow, store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    const row = await stillShared(share, store)
    if (row === null) return
    await tx.network.deleteShare(share.id)
    await tx.ports.release(row.id, share.id)
    await tx.audit.append(expired(share, row))
    await tx.events.append(changed(row))
  })
}

/** What its program said of it. */
export async function writeLearnt(
  share: ShareRow,
  change: Partial<Pick<ShareRow, 'url' | 'state' | 'detail'>>,
  store: Store,
): Promise<void> {
  await store.transaction(async (tx) => {
    const row = await stillShared(share, store)
    if (row === null) return
    await tx.network.updateShare(share.id, change)
    await tx.events.append(changed(row))
  })
}

/** The project, while this is its share; null when it was ended or replaced. */
async function stillShared({ id, project }: ShareRow, store: Store): Promise<ProjectRow | null> {
  const row = await store.projects.find(project)
  return row === null || (await store.network.share(row.id))?.id !== id ? null : row
}

function oneIsThere({ expiresAt, actor }: ShareRow): ProblemError {
  return new ProblemError('conflict', `The project is shared already, by ${actor}, until ${expiresAt}.`, {
    hint: 'End that share first, or use it.',
  })
}

/** Without its address: whoever reads the audit log need not be let in. */
function recorded({ id, provider, workload, expiresAt, passwordHash }: ShareRow) {
  return { id, provider, workload, expiresAt, hasPassword: passwordHash !== null }
}

function expired(share: ShareRow, row: ProjectRow): NewAuditEntry {
  return byTheService({
    action: 'share.expire',
    target: row.slug,
    project: row.id,
    changes: { before: recorded(share) },
  })
}

/** 80 random bits in base32 (RFC 4648), in lower case as host names are. */
export function randomName(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  const bits = [...randomBytes(10)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, (five) => alphabet[Number.parseInt(five, 2)]!)
}
