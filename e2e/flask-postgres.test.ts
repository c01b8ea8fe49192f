import { isAlive } from '@stackquay/testkit'
import { guestbookJourney } from './journeys/guestbook.ts'
import { startService, until } from './support/service.ts'

guestbookJourney({
  title: 'a Flask application with PostgreSQL',
  open: startService,
  settings: {},
  crash: async (_service, { pid }) => {
    process.kill(-pid!, 'SIGKILL')
    await until(async () => !(await isAlive(pid!)), 'PostgreSQL to be gone')
  },
})
