import { join } from 'node:path'
import { become } from './become.mjs'
import { ensurePage } from './page.mjs'
import { root } from './places.mjs'

/** A start makes V8 widen its young generation to 30 MB, which an idle service then carries along for nothing. */
const memoryFlags = ['--max-semi-space-size=4']

export async function run(args) {
  await ensurePage()
  await become([...memoryFlags, join(root, 'apps/server/src/main.ts'), ...args])
}
