import { apiPrefix } from '@stackquay/client'
import { client } from './client.ts'

/** The browser writes the file itself while it comes. `path` is below `/api/v1`; the name is the service's unless given. */
export async function saveFile(path: string, name = ''): Promise<void> {
  const link = document.createElement('a')
  link.href = apiPrefix + (await client.ticketed(path))
  link.download = name
  link.click()
}
