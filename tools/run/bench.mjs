import { join } from 'node:path'
import { become } from './become.mjs'
import { ensurePage } from './page.mjs'
import { root } from './places.mjs'
import { ensureService } from './service.mjs'

export async function run(args) {
  await ensurePage()
  await ensureService()
  await become([join(root, 'bench/main.ts'), ...args])
}
