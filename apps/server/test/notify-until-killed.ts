import { join } from 'node:path'
import { openStore } from '@stackquay/store'
import { createNotifier } from '../src/notifications/dispatcher.ts'
import { keyPlace } from '../src/sealing-key.ts'

/** Tells of jobs that fail, one after the other, until it is killed: `<home> <round> <count>`. */
const [home = '', round = '', count = '0'] = process.argv.slice(2)
const now = () => new Date()
const store = await openStore({ file: join(home, 'state.db'), ...keyPlace(home, null).candidates, clock: { now } })
const onError = (error: unknown) => console.error(error)
const notifier = createNotifier({ store, now, publicUrl: 'http://localhost', onError })
await notifier.start()
process.stdout.write('begun\n')
for (let index = 0; index < Number(count); index++) {
  const data = { run: `${round}-${index}`, name: `job-${round}-${index}`, exitCode: 1, signal: null, error: null }
  await store.transaction((tx) => tx.events.append({ type: 'cron.failed', project: 'prj_1', data }))
  await new Promise((done) => setTimeout(done, 3))
}
// What is left is sent, then it ends.
while ((await store.notifications.nextPending([])) !== null || (await isDue())) {
  await new Promise((done) => setTimeout(done, 20))
}
await notifier.close()
await store.close()

async function isDue(): Promise<boolean> {
  const due = await store.notifications.firstDue()
  const { last } = await store.events.range()
  const position = (await store.settings.get<number>('notifications.position')) ?? 0
  return position < last - 100 || (due !== null && Date.parse(due) <= now().getTime())
}
