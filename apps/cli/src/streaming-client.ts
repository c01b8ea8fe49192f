import { type Client, createClient } from '@stackquay/client'
import type { Context } from './context.ts'

/**
 * A client whose sockets can be paused, which Node's own cannot: a pipe that takes nothing then holds the program at the
 * other end, and nothing piles up here.
 */
export async function streamingClient(context: Context): Promise<Client> {
  const { WebSocket } = await import('ws')
  return createClient({
    ...(await context.connection()),
    WebSocket: WebSocket as unknown as typeof globalThis.WebSocket,
  })
}
