import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isMeant } from '../src/git/act-commit.ts'
import { readNumbers } from '../src/git/history.ts'
import { dirtyIn, readStatus } from '../src/git/read-status.ts'
import { isBranchName, readRefs, refChanges } from '../src/git/ref-names.ts'
import { withoutPassword } from '../src/git/state.ts'
import { localGit } from '../src/source/local-git.ts'

const [a, b, c] = ['a', 'b', 'c'].map((one) => one.repeat(40)) as [string, string, string]

test('the status of git is read with names of every kind', () => {
  const read = readStatus(
    [
      `# branch.oid ${a}`,
      '# branch.head main',
      '# branch.upstream origin/main',
      '# branch.ab +1 -2',
      '# stash 3',
      `1 .M N... 100644 100644 100644 ${a} ${a} with two  spaces`,
      `1 A. N... 000000 100644 100644 ${a} ${b} new\nline`,
      `1 .D N... 100644 100644 000000 ${a} ${a} ? gone`,
      `1 .T N... 100644 100644 120000 ${a} ${a} typed`,
      `2 R. N... 100644 100644 100644 ${a} ${a} R100 to here`,
      'from there',
      `u UU N... 100644 100644 100644 100644 ${a} ${b} ${c} both sides`,
      '? "quoted"\ttab',
      '! ignored',
      'x of a later git',
      '',
    ].join('\0'),
  )
  assert.deepEqual([read.commit, read.branch], [a, 'main'])
  assert.deepEqual(
    read.changed.map(({ path, from, staged, unstaged, conflict }) => [path, from, staged, unstaged, conflict]),
    [
      ['with two  spaces', null, null, 'modified', false],
      ['new\nline', null, 'added', null, false],
      ['? gone', null, null, 'deleted', false],
      ['typed', null, null, 'modified', false],
      ['to here', 'from there', 'renamed', null, false],
      ['both sides', null, null, null, true],
      ['"quoted"\ttab', null, null, 'untracked', false],
    ],
  )
  assert.deepEqual(
    dirtyIn(read.changed)
      .map(({ path }) => path)
      .at(-1),
    'both sides',
  )
})

test('a head without a commit, and one without a branch', () => {
  assert.deepEqual(readStatus('# branch.oid (initial)\0# branch.head main\0'), {
    commit: null,
    branch: 'main',
    changed: [],
  })
  assert.equal(readStatus(`# branch.oid ${a}\0# branch.head (detached)\0`).branch, null)
  assert.deepEqual(readStatus(''), { commit: null, branch: null, changed: [] })
})

test('numbers of a diff: text, binary and renamed files', () => {
  assert.deepEqual(readNumbers('1\t2\ta\tb\0-\t-\tbinary\x003\t0\t\0old\0new\0'), [
    { path: 'a\tb', from: null, added: 1, removed: 2, binary: false },
    { path: 'binary', from: null, added: null, removed: null, binary: true },
    { path: 'new', from: 'old', added: 3, removed: 0, binary: false },
  ])
})

test('names of branches that git takes, and those that it would read as something else', () => {
  for (const name of ['main', 'feature/one', 'v1.2', 'ünï', 'a-b', 'user@home', 'it’s'])
    assert.ok(isBranchName(name), name)
  for (const name of [
    '',
    '-f',
    '--all',
    '@',
    'HEAD',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    '@{-1}',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a.',
    'a\nb',
    'a\x7f',
    'x'.repeat(201),
  ])
    assert.ok(!isBranchName(name), name)
})

test('of what another side lists, only branches and tags with names are read', () => {
  const lines = [
    `${a}\trefs/heads/main`,
    `${b}\trefs/tags/v1`,
    `${a}\trefs/pull/1/head`,
    `${a}\trefs/heads/-x`,
    'nothing',
    `${a}\tHEAD`,
    'zz\trefs/heads/a',
  ]
  assert.deepEqual(readRefs(lines.join('\n')), [
    { name: 'refs/heads/main', oid: a },
    { name: 'refs/tags/v1', oid: b },
  ])
})

test('a fetch moves origin, adds tags, and removes only what stands in the way of a name', () => {
  const theirs = [
    { name: 'refs/heads/main', oid: b },
    { name: 'refs/heads/same', oid: a },
    { name: 'refs/heads/topic/one', oid: c },
    { name: 'refs/tags/v1', oid: c },
    { name: 'refs/tags/v2', oid: c },
  ]
  const ours = [
    { name: 'refs/heads/main', oid: c },
    { name: 'refs/remotes/origin/main', oid: a },
    { name: 'refs/remotes/origin/same', oid: a },
    { name: 'refs/remotes/origin/topic', oid: a },
    { name: 'refs/remotes/origin/left', oid: a },
    { name: 'refs/tags/v1', oid: a },
  ]
  assert.deepEqual(refChanges(theirs, ours), [
    { name: 'refs/remotes/origin/topic', to: null, from: a },
    { name: 'refs/remotes/origin/main', to: b, from: a },
    { name: 'refs/remotes/origin/topic/one', to: c, from: null },
    { name: 'refs/tags/v2', to: c, from: null },
  ])
})

test('a folder means what is below it, and a name nothing that only begins so', () => {
  const change = (path: string, from: string | null = null) =>
    ({ path, from, staged: null, unstaged: 'modified', conflict: false }) as const
  assert.ok(isMeant(change('src/a'), ['src']))
  assert.ok(isMeant(change('src/a'), ['src/']))
  assert.ok(isMeant(change('new', 'src/old'), ['src']))
  assert.ok(!isMeant(change('src-2/a'), ['src']))
  assert.ok(!isMeant(change('a'), ['*']))
})

test('what a repository calls origin is shown without a password', () => {
  assert.equal(withoutPassword('https://ada:secret@example.org/x.git'), 'https://example.org/x.git')
  assert.equal(withoutPassword('git@example.org:x.git'), 'git@example.org:x.git')
  assert.equal(withoutPassword('https://a@b:c@example.org/x'), 'https://example.org/x')
})

test('where no setting takes a filter away, the kernel refuses to start it', {
  skip: process.platform !== 'linux' && 'there is no prlimit',
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-alone-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const mark = join(folder, 'executed')
  const account = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : null
  const as = { cwd: folder, env: { PATH: process.env.PATH, HOME: '/nonexistent' }, ...account }
  await writeFile(join(folder, 'a.bin'), 'a\n')
  await writeFile(join(folder, '.gitattributes'), '*.bin filter=late\n')
  if (account !== null) execFileSync('chown', ['-R', '65534:65534', folder])
  execFileSync('git', ['init', '--quiet'], as)
  execFileSync('git', ['config', 'filter.late.clean', `touch ${mark}; cat`], as)
  execFileSync('git', ['config', 'filter.late.required', 'true'], as)
  const repository = { path: folder, account, settings: [] }
  const { code, words } = await localGit(repository, ['add', '--all'], { signal: AbortSignal.timeout(20_000) })
  assert.notEqual(code, 0)
  assert.match(words.tail().join('\n'), /temporarily unavailable/)
  assert.ok(!existsSync(mark))
  // The same without the limit starts it: the test can fail.
  execFileSync('git', ['add', '--all'], as)
  assert.ok(existsSync(mark))
})
