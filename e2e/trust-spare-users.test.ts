import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { usersOf } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import { type Service, until } from './support/service.ts'
import {
  addOther,
  assertStarts,
  closeAll,
  isRoot,
  makeProject,
  openService,
  uidRange,
} from './support/user-projects.ts'

const execute = promisify(execFile)
after(closeAll)

interface Row {
  readonly name: string
  readonly project: string | null
  readonly spare: number
}

function rowsOf({ home }: Service): readonly Row[] {
  const database = new DatabaseSync(join(home, 'stackquay.db'), { readOnly: true })
  try {
    return database.prepare('select name, project, spare from project_users').all() as unknown as Row[]
  } finally {
    database.close()
  }
}

const inUse = (own: Service) => rowsOf(own).filter(({ project, spare }) => project !== null || spare === 1)

/** Projects in quick succession, until some of the machine's users wait. */
async function namesThatWait(own: Service): Promise<readonly string[]> {
  for (const slug of ['one', 'two', 'three']) await makeProject(own, slug)
  let there: readonly string[] = []
  const isThere = async () => {
    const users = await usersOf(own.home)
    const names = rowsOf(own).flatMap(({ name, spare }) => (spare === 1 ? [name] : []))
    there = names.filter((name) => users.some((user) => user.name === name))
    return there.length > 0
  }
  await until(isThere, 'some to wait', 30_000)
  return there
}

/** Goes to the home that the machine has for its user, and answers what is in the home that the service gave it. */
const byName = `cd "$(getent passwd "$(id -un)" | cut -d: -f6)" && touch by-name && exec node -e "
  require('http').createServer((_, answer) => answer.end(require('fs').readdirSync(process.env.HOME).join())).listen(process.env.PORT)"`

if (isRoot) {
  describe('users that wait for projects', { timeout: rounds(280_000, 3_600_000) }, () => {
    it('are all found again, however the service is killed while it adds them', async (t) => {
      const random = randomFrom(20_261_125)
      const own = await openService()
      const count = rounds(2, 20)
      for (let round = 0; round < count; round += 1) {
        const before = rowsOf(own).length
        const made = [1, 2, 3, 4].map((at) => makeProject(own, `p${round}-${at}`).catch(() => undefined))
        await until(
          async () =>
            rowsOf(own)
              .slice(before)
              .some(({ spare }) => spare === 1),
          'one to be written down',
        )
        await delay(random() * 100)
        await own.kill()
        await Promise.all(made)
        await own.start()
        await own.client.call('listProjects', { query: { limit: 1 } })
        await until(
          async () => {
            const [rows, users] = [inUse(own), await usersOf(own.home)]
            return rows.length === users.length && rows.every(({ name }) => users.some((user) => user.name === name))
          },
          'every user to be one of the service, and the other way round',
          60_000,
        )
      }
      const names = rowsOf(own).map(({ name }) => name)
      assert.equal(new Set(names).size, names.length)
      t.diagnostic(`${count} kills, ${inUse(own).filter(({ spare }) => spare === 1).length} wait`)
    })

    it('leave a folder that is there to its owner until the project may work in it', async () => {
      const own = await openService({ STACKQUAY_ISOLATION: 'user' })
      const before = await namesThatWait(own)
      const uid = uidRange(1).from
      await addOther(`stq-spare-${process.pid}`, uid)
      const folder = join('/srv', basename(own.home))
      await mkdir(folder, { recursive: true })
      after(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'package.json'), '{"scripts":{"start":"node index.js"}}')
      await execute('chown', ['-R', `${uid}:${uid}`, folder])
      const body = { name: 'shop', path: folder, start: false }
      const made = await own.client.call('createProject', { body, query: { wait: 60 } })
      assert.ok('node' in made, 'the folder was not looked at')
      const user = rowsOf(own).find(({ project }) => project === made.id)
      assert.ok(user !== undefined && !before.includes(user.name), JSON.stringify(user))
    })

    it('have the home of their project by the name of the machine, in a sandbox too', async () => {
      for (const level of ['sandbox', 'user']) {
        const own = await openService({ STACKQUAY_ISOLATION: level })
        const before = await namesThatWait(own)
        await makeProject(own, 'shop', { node: { command: ['sh', '-c', byName] } })
        assert.ok(
          rowsOf(own).some(({ name, project }) => project !== null && before.includes(name)),
          'none of them was taken',
        )
        await assertStarts(own, 'shop')
        assert.match((await own.get('shop')).body, /by-name/, level)
      }
    })
  })
} else {
  it('there are none where an ordinary user runs the service', async () => {
    const own = await openService()
    for (const slug of ['one', 'two', 'three']) await makeProject(own, slug)
    assert.deepEqual(rowsOf(own), [])
  })
}
