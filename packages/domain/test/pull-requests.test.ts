import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as domain from '../src/index.ts'
import { type DeliveryHead, type PullRequestCommit, pullRequestRef } from '../src/index.ts'

const sha = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821'

const pullRequestOf = (head: Pick<DeliveryHead, 'forge' | 'event'>, payload: unknown) =>
  domain.pullRequestOf(head, payload) as PullRequestCommit | null

/** The fields that are read of the example payloads in the documentation of each forge, with what stands beside them. */
const github = {
  action: 'opened',
  number: 2,
  pull_request: {
    url: 'https://api.github.com/repos/Codertocat/Hello-World/pulls/2',
    html_url: 'https://github.com/Codertocat/Hello-World/pull/2',
    number: 2,
    state: 'open',
    title: 'Update the README with new information.',
    head: { label: 'Codertocat:changes', ref: 'changes', sha, repo: { id: 186853002, fork: false } },
    base: {
      label: 'Codertocat:master',
      ref: 'master',
      sha: 'f95f852bd8fca8fcc58a9a2d6c842781e32a215e',
      repo: { id: 186853002 },
    },
    merged: false,
  },
}
const gitlab = {
  object_kind: 'merge_request',
  object_attributes: {
    id: 99,
    iid: 1,
    target_branch: 'main',
    source_branch: 'ms-viewport',
    source_project_id: 14,
    target_project_id: 14,
    title: 'MS-Viewport',
    state: 'opened',
    url: 'http://example.com/diaspora/merge_requests/1',
    last_commit: { id: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7' },
    action: 'open',
  },
}
const gitea = {
  action: 'synchronized',
  number: 3,
  pull_request: {
    id: 7,
    html_url: 'http://localhost:3000/gitea/webhooks/pulls/3',
    number: 3,
    title: 'A change',
    head: { label: 'changes', ref: 'changes', sha, repo_id: 140, repo: { id: 140 } },
    base: { label: 'main', ref: 'main', repo_id: 140, repo: { id: 140 } },
  },
}

describe('pull requests of forges', () => {
  it('are read as each forge sends them', () => {
    const of = (forge: 'github' | 'gitlab' | 'gitea' | 'forgejo', event: string, payload: object) =>
      pullRequestOf({ forge, event }, payload)
    assert.deepEqual(of('github', 'pull_request', github), {
      ...{ act: 'open', number: 2, title: 'Update the README with new information.', branch: 'changes', head: sha },
      ...{ url: 'https://github.com/Codertocat/Hello-World/pull/2', fork: false },
    })
    assert.deepEqual(of('gitlab', 'Merge Request Hook', gitlab), {
      ...{ act: 'open', number: 1, title: 'MS-Viewport', branch: 'ms-viewport', fork: false },
      ...{ head: 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7', url: 'http://example.com/diaspora/merge_requests/1' },
    })
    for (const forge of ['gitea', 'forgejo'] as const) {
      const read = of(forge, 'pull_request', gitea)
      assert.deepEqual([read?.act, read?.number, read?.fork], ['sync', 3, false])
    }
  })

  it('are of a fork whenever their commits are not said to be here', () => {
    const from = (head: object) =>
      pullRequestOf(
        { forge: 'github', event: 'pull_request' },
        { ...github, pull_request: { ...github.pull_request, head } },
      )
    assert.equal(from({ ref: 'x', sha, repo: { id: 1 } })?.fork, true)
    assert.equal(from({ ref: 'x', sha, repo: null })?.fork, true)
    const about = { ...gitlab.object_attributes, source_project_id: 15 }
    const read = pullRequestOf({ forge: 'gitlab', event: 'Merge Request Hook' }, { object_attributes: about })
    assert.equal(read?.fork, true)
  })

  it('are nothing where no commit changes, or the payload is made up', () => {
    const act = (action: string, more = {}) =>
      pullRequestOf(
        { forge: 'gitlab', event: 'Merge Request Hook' },
        { object_attributes: { ...gitlab.object_attributes, action, ...more } },
      )?.act
    assert.equal(act('update'), undefined)
    assert.equal(act('update', { oldrev: sha }), 'sync')
    assert.equal(act('merge'), 'close')
    const of = (payload: unknown) => pullRequestOf({ forge: 'github', event: 'pull_request' }, payload)
    const actions = ['labeled', 'constructor', 'toString', null, {}].map((action) => ({ ...github, action }))
    for (const payload of [null, 'x', [], {}, { action: 'opened' }, ...actions]) assert.equal(of(payload), null)
    const pull = (more: object) => of({ ...github, pull_request: { ...github.pull_request, ...more } })
    assert.equal(pull({ number: -1 }), null)
    assert.equal(pull({ head: { ...github.pull_request.head, sha: 'main; rm -rf /' } }), null)
    assert.equal(pull({ html_url: 'javascript:alert(1)' })?.url, null)
    assert.equal(pull({ title: 'a\u202eb' })?.title, 'a b')
  })

  it('have their commits where each forge keeps them', () => {
    assert.equal(pullRequestRef('github', 9), 'refs/pull/9/head')
    assert.equal(pullRequestRef('gitlab', 9), 'refs/merge-requests/9/head')
  })
})
