import type { BranchPullRequest } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { BranchReader, BranchRow, BranchWriter } from './model/branches.ts'
import type { BranchesTable } from './schema-deploys.ts'

export function branchReader({ db }: Reading): BranchReader {
  const rows = db.selectFrom('branches').selectAll().orderBy('created_at').orderBy('branch')
  return {
    of: async (parent) => (await rows.where('parent', '=', parent).execute()).map(branchOf),
    all: async () => (await rows.execute()).map(branchOf),
    find: async (parent, branch) =>
      (await rows.where('parent', '=', parent).where('branch', '=', branch).execute()).map(branchOf)[0] ?? null,
    ofProject: async (project) => (await rows.where('project', '=', project).execute()).map(branchOf)[0] ?? null,
  }
}

export function branchWriter({ db, now }: Writing): BranchWriter {
  return {
    put: async ({ pullRequest, seenCommit, goneAt, ...row }) => {
      const stored: BranchesTable = {
        ...row,
        created_at: now,
        seen_commit: seenCommit,
        gone_at: goneAt,
        pull_request: pullRequest === null ? null : JSON.stringify(pullRequest),
      }
      await db.replaceInto('branches').values(stored).execute()
    },
    update: async (parent, branch, { seenCommit, goneAt, warning, pullRequest }) => {
      await db
        .updateTable('branches')
        .set({
          branch,
          seen_commit: seenCommit,
          gone_at: goneAt,
          warning,
          pull_request: pullRequest == null ? pullRequest : JSON.stringify(pullRequest),
        })
        .where('parent', '=', parent)
        .where('branch', '=', branch)
        .execute()
    },
    delete: async (parent, branch) => {
      await db.deleteFrom('branches').where('parent', '=', parent).where('branch', '=', branch).execute()
    },
  }
}

function branchOf({ created_at, seen_commit, gone_at, pull_request, ...row }: BranchesTable): BranchRow {
  return {
    ...row,
    createdAt: created_at,
    seenCommit: seen_commit,
    goneAt: gone_at,
    pullRequest: pull_request === null ? null : (JSON.parse(pull_request) as BranchPullRequest),
  }
}
