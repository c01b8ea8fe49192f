import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputsOfSleep, sleepPatch } from '../src/lib/sleep.ts'

const office = { after: null, hours: 'mon-fri 08:00-19:00', timezone: 'Europe/Berlin' }

test('fields show what is set, and the time zone of whoever looks where none counts yet', () => {
  assert.deepEqual(inputsOfSleep(null, 'Asia/Tokyo'), { after: '', hours: '', timezone: 'Asia/Tokyo' })
  assert.deepEqual(inputsOfSleep({ after: '2h', hours: null, timezone: 'UTC' }, 'Asia/Tokyo'), {
    after: '2h',
    hours: '',
    timezone: 'Asia/Tokyo',
  })
  assert.equal(inputsOfSleep(office, 'Asia/Tokyo').timezone, 'Europe/Berlin')
})

test('what was not changed is not sent; empty fields take sleep away', () => {
  assert.equal(sleepPatch(null, inputsOfSleep(null, 'UTC')), undefined)
  assert.equal(sleepPatch(office, inputsOfSleep(office, 'UTC')), undefined)
  const after = { after: '2h', hours: null, timezone: 'UTC' }
  assert.equal(sleepPatch(after, inputsOfSleep(after, 'Asia/Tokyo')), undefined)
  assert.equal(sleepPatch(office, { after: ' ', hours: '', timezone: 'UTC' }), null)
  assert.deepEqual(sleepPatch(null, { after: ' 2h ', hours: '', timezone: 'Asia/Tokyo' }), { after: '2h', hours: null })
  assert.deepEqual(sleepPatch(office, { ...inputsOfSleep(office, 'UTC'), timezone: 'UTC' }), {
    after: null,
    hours: 'mon-fri 08:00-19:00',
    timezone: 'UTC',
  })
})
