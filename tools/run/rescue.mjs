import { become } from './become.mjs'
import { ensureService, serviceProgram } from './service.mjs'

/** `npm run rescue -- users`: for whoever has the machine and cannot log in. */
export async function run(args) {
  await ensureService()
  await become([serviceProgram, 'rescue', ...args])
}
