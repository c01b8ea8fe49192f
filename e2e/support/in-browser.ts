import assert from 'node:assert/strict'
import { admin, type Service } from './service.ts'

/** As a person does it, in a new browser session. */
export async function inBrowser<T>(
  { url }: Pick<Service, 'url'>,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const json = { 'content-type': 'application/json' }
  const login = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers: json, body: JSON.stringify(admin) })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const { csrfToken } = (await login.json()) as { csrfToken: string }
  const headers = { cookie, 'x-csrf-token': csrfToken, ...(body === undefined ? {} : json) }
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers, ...content })
  assert.ok(answer.ok, `${answer.status} ${await answer.clone().text()}`)
  return (await answer.json()) as T
}
