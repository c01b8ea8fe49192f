import { existsSync } from 'node:fs'
import { join } from 'node:path'

interface Built {
  ensureService(): Promise<void>
  readonly serviceProgram: string
}

/** What `npm start` runs of a checkout, built when it is stale; an old checkout runs its sources. */
export async function serviceProgramOf(checkout: string): Promise<string> {
  const module = join(checkout, 'tools/run/service.mjs')
  if (!existsSync(module)) return join(checkout, 'apps/server/src/main.ts')
  const { ensureService, serviceProgram } = (await import(module)) as Built
  await ensureService()
  return serviceProgram
}
