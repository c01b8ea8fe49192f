import { randomBytes } from 'node:crypto'
import { byTheService, type Store } from '@stackquay/store'

/** A short name of this instance that stays: the name of its cookie carries it. */
export async function instanceId(store: Pick<Store, 'instance' | 'transaction'>): Promise<string> {
  const known = await store.instance.get('id')
  if (known !== null) return known
  const id = randomBytes(4).toString('hex')
  await store.transaction((tx) => tx.instance.set('id', id))
  return id
}

/**
 * A session belongs to the origin that it was made under, and the port is part of it: what answers at the old address now
 * may be somebody's program, and it would find the key there. Ends all sessions when the origin is another than at the start
 * before; answers how many.
 */
export async function endSessionsOfOtherOrigin(
  store: Pick<Store, 'instance' | 'transaction'>,
  origin: string,
): Promise<number> {
  const before = await store.instance.get('session_origin')
  if (before === origin) return 0
  return store.transaction(async (tx) => {
    await tx.instance.set('session_origin', origin)
    if (before === null) return 0
    const sessions = await tx.sessions.deleteAll()
    const changes = { before: { origin: before, sessions }, after: { origin } }
    await tx.audit.append(byTheService({ action: 'session.end_all', changes }))
    return sessions
  })
}
