import { join } from 'node:path'
import { become } from './become.mjs'
import { root } from './places.mjs'

/** `npm run stq -- list`. npm changes to the workspace; the command belongs to the folder the person stands in. */
export async function run(args) {
  if (process.env.INIT_CWD !== undefined) process.chdir(process.env.INIT_CWD)
  await become([join(root, 'apps/cli/bin/stq'), ...args])
}
