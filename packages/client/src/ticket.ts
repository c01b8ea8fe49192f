import { apiPrefix, routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

/**
 * The path with a ticket in it, for what a browser opens by its address: no header can be sent there. It opens once, within
 * half a minute. With a token nothing is needed, and the path stays as it is. `path` is below `/api/v1`.
 */
export async function ticketed(client: ClientOptions, path: string, signal?: AbortSignal): Promise<string> {
  if (client.csrfToken === undefined || client.token !== undefined) return path
  const wanted = { ...routes.createTicket, body: { path: apiPrefix + path } }
  const { data } = await request(client, wanted, signal === undefined ? {} : { signal })
  return `${path}${path.includes('?') ? '&' : '?'}ticket=${(data as { ticket: string }).ticket}`
}
