import { listenersAt, socketsOfThisProcess } from '@stackquay/proxy/listeners'
import { portOwner } from '@stackquay/proxy/port-owner'
import type { FastifyInstance } from 'fastify'
import { type Address, addressText, heldAddresses } from './held-addresses.ts'
import { sharesPorts } from './shares-ports.ts'

/** The page cannot have its address; the message says why and what to do. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/**
 * Listens for the page and the API. As root the socket can be joined by root alone, which keeps the port held between two
 * starts (SO_REUSEPORT, see held-ports.ts). So the kernel would not refuse a second service: it is looked for, before and,
 * as both may look at the same moment, after.
 */
export async function listenPage(app: FastifyInstance, address: Address, inherited?: number): Promise<void> {
  if (inherited !== undefined) return listenOnInherited(app, address, inherited)
  const shares = sharesPorts() && address.port !== 0
  if (shares) await refuseSecond(address)
  try {
    await app.listen({ ...address, ...(shares && { reusePort: true }) })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw await addressUsed(address)
  }
  if (shares) await refuseSecond(address)
}

async function listenOnInherited(app: FastifyInstance, { host, port }: Address, fd: number): Promise<void> {
  // Node listens on the descriptor when there is one; Fastify writes the address into its answer.
  const options = { host: host === 'localhost' ? '127.0.0.1' : host, port, fd }
  await app.listen(options)
  const bound = app.server.address()
  if (typeof bound === 'object' && bound?.port === port) return
  const where =
    bound === null || typeof bound === 'string' ? String(bound) : addressText({ ...bound, host: bound.address })
  throw new AddressError(
    `The socket "page" from systemd listens at ${where}. Set STACKQUAY_LISTEN to the same address.`,
  )
}

async function refuseSecond(address: Address): Promise<void> {
  const own = socketsOfThisProcess()
  for (const one of await heldAddresses(address)) {
    if (one.listens && listenersAt(one).some((socket) => !own.has(socket))) throw await addressUsed(address)
  }
}

async function addressUsed(address: Address): Promise<AddressError> {
  const holder = await portOwner(address.port)
  const who =
    holder === undefined || holder.pid === process.pid ? 'another program' : `"${holder.name}" (pid ${holder.pid})`
  return new AddressError(`The address ${addressText(address)} is used by ${who}. Stop it, or set STACKQUAY_LISTEN.`)
}
