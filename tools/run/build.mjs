import { ensurePage } from './page.mjs'
import { Refusal } from './refusal.mjs'
import { ensureService } from './service.mjs'

/** `npm run build`: what `npm start` would make before it starts. A service that runs goes on with what it has. */
export async function run(args) {
  if (args.length > 0) throw new Refusal(`Unknown option "${args[0]}".`, 2)
  await ensurePage()
  await ensureService()
}
