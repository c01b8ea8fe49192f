import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forgeDeliveries } from '@stackquay/testkit/forge-deliveries'
import { openTestApp } from '../app-support.ts'
import { deliver, type Hook, hookOf } from '../forge-support.ts'

/* A service that is killed as soon as a delivery is written down: nothing of it was done, and nobody was answered. */
const [home = '', name = ''] = process.argv.slice(2)
const known = join(home, 'hook.json')
const app = await openTestApp({ after: () => undefined }, { home })
if (name === 'opened') writeFileSync(known, JSON.stringify(await hookOf(app, { branches: { pullRequests: true } })))
const { store } = app.app
const { transaction } = store
Object.assign(store, {
  transaction: async (work: Parameters<typeof transaction>[0]) => {
    const done = await transaction(work)
    if ((await store.deploys.pendingPullRequests()).length > 0) process.kill(process.pid, 'SIGKILL')
    return done
  },
})
const delivery = forgeDeliveries.find((one) => one.forge === 'github' && one.name === name)!
await deliver(app, JSON.parse(readFileSync(known, 'utf8')) as Hook, delivery)
