import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { findSystemUser, takenIds } from '../src/isolation/system-users.ts'

const idsIn = async (file: string) =>
  (await readFile(file, 'utf8')).split('\n').flatMap((line) => (line === '' ? [] : [Number(line.split(':')[2])]))

test('numbers of users and of groups are taken, also when one is asked for that nobody has', async () => {
  const users = await idsIn('/etc/passwd')
  const groupAlone = (await idsIn('/etc/group')).find((id) => !users.includes(id))!
  const nobodys = 1_987_654_321
  assert.deepEqual(await takenIds([0, groupAlone, nobodys]), new Set([0, groupAlone]))
  assert.deepEqual(await takenIds([nobodys]), new Set())
})

test('a user is found by name and by number', async () => {
  const root = await findSystemUser('root')
  assert.deepEqual([root?.uid, root?.gid, (await findSystemUser(0))?.name], [0, 0, 'root'])
  assert.equal(await findSystemUser('nobody-has-this-name'), null)
})
