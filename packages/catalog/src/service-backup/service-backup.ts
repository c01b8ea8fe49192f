import { pipeline } from 'node:stream/promises'

/**
 * Writes what a built-in service answers at an address to standard output: its data as a tar, or what is in it.
 *
 * Usage: service-backup URL, with the key of the service in SERVICE_KEY
 */
try {
  const [address] = process.argv.slice(2)
  if (address === undefined) throw new Error('Say where to ask.')
  const answer = await fetch(address, { headers: { authorization: `Bearer ${process.env.SERVICE_KEY}` } })
  if (!answer.ok || answer.body === null) {
    throw new Error(`The service answered ${answer.status}: ${(await answer.text()).slice(0, 1_000)}`)
  }
  // An answer that breaks off is an error here: its end is marked.
  await pipeline(answer.body as AsyncIterable<Uint8Array>, process.stdout)
} catch (error) {
  const { message, cause } = error as Error
  console.error(cause instanceof Error ? `${message}: ${cause.message}` : message)
  process.exitCode = 1
}
