import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTarget, readHostKey } from '@stackquay/targets'
import { conformance, never, targetError } from './conformance.ts'
import { sftpPlace } from './places.ts'

conformance('SFTP, by OpenSSH', sftpPlace)

test('a machine that shows another key than it is known by gets no credentials and no data', async () => {
  await using place = await sftpPlace()
  const target = await place.open()
  await target.put('before.age', Buffer.from('x'), never)
  assert.match(place.access.settings.hostKey ?? '', /^ssh-ed25519 SHA256:[A-Za-z0-9+/]{43}$/)
  // The session of before would go on.
  await target.close()
  await place.newHostKey()
  await assert.rejects(target.put('after.age', Buffer.from('x'), never), targetError('host_key'))
  assert.equal(await place.look('after.age'), null)
  const known = { ...place.access.settings, hostKey: await readHostKey(place.access.settings) }
  assert.notEqual(known.hostKey, place.access.settings.hostKey)
  const again = await openTarget({ ...place.access, settings: known })
  await again.put('after.age', Buffer.from('x'), never)
  await again.close()
  await target.close()
})
