import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, isWhole, type RightsDraft, rightsOf, roleAt } from '../src/lib/rights.ts'

const own = [{ project: 'prj_1', role: 'admin' as const }]

test('what is offered on a project is what the role there allows, and of the whole instance only what reaches it', () => {
  const everywhere = { role: 'read', projects: [], projectRoles: own } as const
  const limited = { role: 'operate', projects: ['prj_2'], projectRoles: own } as const
  const alone = { role: null, projects: [], projectRoles: own } as const
  const at = ['prj_1', 'prj_2', 'prj_3', null]
  assert.deepEqual(
    at.map((project) => roleAt({ ...everywhere, projects: [] }, project)),
    ['admin', 'read', 'read', 'read'],
  )
  assert.deepEqual(
    at.map((project) => roleAt({ ...limited, projects: [...limited.projects] }, project)),
    ['admin', 'operate', null, null],
  )
  assert.deepEqual(
    at.map((project) => roleAt({ ...alone, projects: [] }, project)),
    ['admin', null, null, null],
  )
})

test('a draft sends what it shows, and a choice of some projects without one is never sent as all', () => {
  const draft: RightsDraft = { role: 'operate', extent: 'some', projects: [], projectRoles: [] }
  assert.equal(isWhole(draft), false)
  assert.equal(isWhole({ ...draft, projects: ['prj_1'] }), true)
  assert.equal(isWhole({ ...draft, role: 'none' }), false)
  assert.equal(isWhole({ ...draft, role: 'none', projectRoles: [{ project: '', role: 'read' }] }), false)
  assert.deepEqual(rightsOf({ ...draft, role: 'none', projects: ['prj_2'], projectRoles: own }), {
    ...{ role: null, projects: [], projectRoles: own },
  })
  // Hidden in the form, so not sent: an administrator of everything is one on every project.
  assert.deepEqual(rightsOf({ ...draft, role: 'admin', extent: 'all', projects: ['prj_2'], projectRoles: own }), {
    ...{ role: 'admin', projects: [], projectRoles: [] },
  })
  const rights = { role: 'read' as const, projects: ['prj_2'], projectRoles: own }
  assert.deepEqual(rightsOf(draftOf(rights)), rights)
})
