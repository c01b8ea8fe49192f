import { join } from 'node:path'
import { become } from './become.mjs'
import { ensurePage } from './page.mjs'
import { root } from './places.mjs'

export async function run(args) {
  await ensurePage()
  await become([join(root, 'bench/main.ts'), ...args])
}
