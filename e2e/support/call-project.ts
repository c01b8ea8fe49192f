import type { Service } from './service.ts'

/** A request below the path of a project, past the client, with its status and its text whatever they are. */
export async function callProject<Body>(
  { url, token }: Pick<Service, 'url' | 'token'>,
  id: string,
  asked: {
    readonly method: string
    readonly path: string
    readonly body?: object | undefined
    readonly signal?: AbortSignal | undefined
  },
): Promise<{ readonly status: number; readonly body: Body; readonly text: string }> {
  const { method, path, body, signal } = asked
  const response = await fetch(`${url}/api/v1/projects/${id}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  // Not lines of it.
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, body: (isJson && text !== '' ? JSON.parse(text) : text) as Body, text }
}
