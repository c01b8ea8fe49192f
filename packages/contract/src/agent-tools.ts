import type { OperationId } from './operations/index.ts'

/**
 * Which operations are offered to assistants over MCP, and as which tools: few, each of several operations, because a client
 * reads the whole list before its first question. Argument schemas, annotations and calls follow from the operations.
 */
export interface AgentTool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** By the value of the argument `selector`; a tool of one act has none. */
  readonly acts: Readonly<Record<string, AgentAct>>
  readonly selector?: 'action' | 'what'
  /** Descriptions that say more, or say it shorter, than the contract does of the field. */
  readonly texts?: Readonly<Record<string, string>>
  /** Arguments of the tool itself, as JSON Schema. */
  readonly own?: Readonly<Record<string, object>>
  readonly ownRequired?: readonly string[]
  /** It reaches beyond the service: other hosts, or whatever a program does. */
  readonly openWorld?: true
  /** Further operations that it reads from for its answer. */
  readonly reads?: readonly OperationId[]
}

export interface AgentAct {
  readonly operation: OperationId
  /** Fields of query and body that are arguments. Those of the path always are; that of the project is `project`. */
  readonly takes?: readonly string[]
  /** Argument → field, where the tool has another word for it. */
  readonly renames?: Readonly<Record<string, string>>
  /** The argument that is the body, or is merged into it. */
  readonly body?: { readonly argument: string; readonly merged?: true }
  readonly fixed?: Readonly<Record<string, string | boolean>>
  /** The argument that says which version was read: the operation replaces that one alone. */
  readonly ifMatch?: string
  /**
   * It takes two calls, a plan and its confirmation: `always`, when it can `remove` something by what is sent, or when what is
   * run is marked `destructive`. Whatever an operation declares to remove has one of these, or says why it is harmless here.
   */
  readonly confirm?: 'always' | 'removals' | 'destructive'
  readonly harmless?: string
  /** A name that the operation wants typed, which the confirmation stands for: of the project, or an argument. */
  readonly typed?: { readonly in: 'query' | 'body'; readonly of: string }
}

const page = ['limit', 'cursor'] as const

export const agentTools: readonly AgentTool[] = [
  {
    name: 'list_projects',
    title: 'List projects',
    description: 'Projects this token may see, with state and URL. Start here.',
    acts: { list: { operation: 'listProjects', takes: ['state', 'q', ...page] } },
  },
  {
    name: 'read_project',
    title: 'Read about a project',
    description:
      'state: URLs, workloads, warnings. settings: its stackquay.yml. variables: environment, secrets masked. Also what it can run, what it ran, its data and its git repository.',
    selector: 'what',
    acts: {
      state: { operation: 'getProject' },
      settings: { operation: 'getManifest' },
      variables: { operation: 'getProjectEnv' },
      stats: { operation: 'getProjectStats' },
      actions: { operation: 'listActions' },
      tests: { operation: 'listTests' },
      runs: { operation: 'listRuns', takes: page },
      operations: { operation: 'listOperations', takes: ['project', ...page] },
      databases: { operation: 'listDatabases' },
      snapshots: { operation: 'listSnapshots' },
      backups: { operation: 'listBackups', takes: page },
      checkpoints: { operation: 'listCheckpoints' },
      services: { operation: 'listExtras' },
      workers: { operation: 'listWorkers' },
      cron: { operation: 'listCronJobs' },
      domains: { operation: 'listDomains' },
      git: { operation: 'getGit' },
      git_log: { operation: 'getGitLog', takes: ['branch', ...page] },
      git_diff: { operation: 'getGitDiff', takes: ['path', 'commit'] },
      git_branches: { operation: 'listGitBranches' },
      deploys: { operation: 'listDeploys', takes: page },
    },
    texts: {
      db: 'For snapshots: the database.',
      branch: 'For git_log.',
      path: 'For git_diff.',
      commit: 'For git_diff.',
    },
  },
  {
    name: 'diagnose_project',
    title: 'Find out why a project is not well',
    description: 'State, failed operations with their reasons, warnings, and the newest error lines, in one answer.',
    acts: { diagnose: { operation: 'getProject' } },
    reads: ['listOperations', 'getProjectLogs'],
  },
  {
    name: 'create_project',
    title: 'Create a project',
    description: 'From a template, a git URL or a folder of the service’s machine; without these, empty.',
    openWorld: true,
    acts: {
      create: {
        operation: 'createProject',
        takes: ['name', 'template', 'git', 'path', 'start'],
        body: { argument: 'settings', merged: true },
      },
    },
    texts: {
      template: 'Name from read_catalogue.',
      git: '{"url", "branch"?}',
      path: 'Absolute folder.',
      settings: 'As in change_project.',
    },
  },
  {
    name: 'change_project',
    title: 'Change settings of a project',
    description:
      'JSON Merge Patch: what is absent stays, null removes. Keys: runtimes and services by name, databases, env, workers, cron, healthCheck, limits. read_catalogue has their settings. preview only plans.',
    acts: {
      change: {
        operation: 'updateProject',
        takes: ['purge'],
        body: { argument: 'changes' },
        confirm: 'removals',
      },
    },
    own: { preview: { type: 'boolean' } },
    texts: {
      changes: 'e.g. {"env": {"LOG": "debug"}}; a secret: {"env": {"KEY": {"value": "…", "secret": true}}}',
      purge: 'Delete removed data for good, past the trash.',
    },
  },
  {
    name: 'control_project',
    title: 'Start, stop, restart, cancel',
    description: 'apply carries out settings that wait, revert gives them up. cancel_* end work that goes on.',
    selector: 'action',
    acts: {
      start: { operation: 'startProject', takes: ['workload'] },
      stop: { operation: 'stopProject', takes: ['workload'] },
      restart: { operation: 'restartProject', takes: ['workload'] },
      sleep: { operation: 'sleepProject' },
      apply: { operation: 'applySettings' },
      revert: { operation: 'revertSettings', confirm: 'always' },
      cancel_operation: { operation: 'cancelOperation' },
      cancel_run: { operation: 'cancelRun' },
    },
    texts: { workload: 'Only this one.', op: 'For cancel_operation.', run: 'For cancel_run.' },
  },
  {
    name: 'delete_project',
    title: 'Delete a project',
    description: 'Source files stay, and data unless data is delete. Answers a plan; then call confirm.',
    acts: {
      delete: {
        operation: 'deleteProject',
        takes: ['data', 'purge'],
        confirm: 'always',
        typed: { in: 'query', of: 'project' },
      },
    },
    texts: { purge: 'For good, past the trash.' },
  },
  {
    name: 'read_logs',
    title: 'Read logs',
    description: 'Newest lines of all workloads or one, oldest first. Go on with cursor.',
    acts: {
      read: {
        operation: 'getProjectLogs',
        takes: ['workload', 'since', 'until', 'q', 'regex', 'level', ...page],
      },
    },
    texts: { q: 'Text in the line.', level: 'This and worse.', limit: 'Default 100.', workload: 'Only this one.' },
  },
  {
    name: 'read_catalogue',
    title: 'What projects can be made of',
    description: 'Runtimes, services, databases and templates here. With name: its settings and versions.',
    acts: { read: { operation: 'listRuntimes' } },
    reads: ['listServices'],
    own: { name: { type: 'string' } },
  },
  {
    name: 'read_work',
    title: 'Read an operation or a run',
    description: 'State, output or failed tests; wait for its end.',
    selector: 'what',
    acts: {
      operation: { operation: 'getOperation', takes: ['wait'] },
      run: { operation: 'getRun', takes: ['wait'] },
      output: { operation: 'getRunOutput' },
      tests: { operation: 'listTestCases', takes: ['outcome', ...page] },
    },
    texts: { op: 'For operation.', run: 'For run, output, tests.', wait: 'Seconds, at most 50.' },
  },
  {
    name: 'run_action',
    title: 'Run an action of a project',
    description: 'Build, migrate, seed …: see read_project actions. Destructive ones answer a plan; then call confirm.',
    openWorld: true,
    acts: { run: { operation: 'runAction', confirm: 'destructive' } },
    reads: ['listActions', 'getRunOutput'],
    texts: { action: 'Its id.' },
  },
  {
    name: 'run_tests',
    title: 'Run tests',
    description: 'A suite, with databases of its own. Answers counts and failures.',
    openWorld: true,
    acts: { run: { operation: 'runTests', takes: ['filter'] } },
    reads: ['listTestCases', 'getRunOutput'],
    texts: { suite: 'Id from read_project tests.', filter: 'In words of the runner.' },
  },
  {
    name: 'exec_command',
    title: 'Run a program in a project',
    description: 'In its environment, as its user. It can change anything the project can. Ends after timeout.',
    openWorld: true,
    acts: { exec: { operation: 'execCommand', takes: ['argv', 'workload', 'stdin'] } },
    own: { timeout: { type: 'integer', description: 'Seconds: 30, at most 50.' } },
    texts: { argv: 'Program and arguments; no shell.', workload: 'Its place; default: the runtime.' },
  },
  {
    name: 'read_database',
    title: 'Look into a database',
    description: 'Its schema, rows of a table, or one SQL statement that only reads.',
    selector: 'what',
    acts: {
      schema: { operation: 'getDatabaseSchema' },
      rows: { operation: 'listTableRows', takes: page },
      query: {
        operation: 'queryDatabase',
        takes: ['sql'],
        harmless: '`write` is no argument, and without it the server refuses what writes',
      },
    },
    texts: { table: 'For rows.', sql: 'For query.' },
  },
  {
    name: 'change_database',
    title: 'Create, snapshot, put back, delete databases',
    description: 'create and snapshot at once; the others answer a plan; then call confirm.',
    selector: 'action',
    acts: {
      create: { operation: 'createDatabase', takes: ['name', 'type', 'version'] },
      snapshot: { operation: 'createSnapshot' },
      restore_snapshot: {
        operation: 'restoreSnapshot',
        confirm: 'always',
        typed: { in: 'body', of: 'db' },
      },
      reset: { operation: 'resetDatabase', confirm: 'always', typed: { in: 'body', of: 'db' } },
      delete: { operation: 'deleteDatabase', confirm: 'always', typed: { in: 'query', of: 'db' } },
    },
    texts: { name: 'For create.', type: 'For create.', version: 'For create.', snapshot: 'For restore_snapshot.' },
  },
  {
    name: 'change_git',
    title: 'Fetch, pull, check out, commit, push, deploy',
    description: 'discard, rollback and a forced push answer a plan; then call confirm.',
    selector: 'action',
    openWorld: true,
    acts: {
      fetch: { operation: 'fetchGit' },
      pull: { operation: 'pullGit' },
      checkout: { operation: 'checkoutGit', takes: ['branch', 'create'] },
      commit: { operation: 'commitGit', takes: ['message', 'paths'] },
      push: { operation: 'pushGit', takes: ['branch'] },
      force_push: { operation: 'pushGit', takes: ['branch'], fixed: { force: true }, confirm: 'always' },
      deploy: { operation: 'createDeploy' },
      discard: { operation: 'discardGit', takes: ['paths'], confirm: 'always' },
      rollback: { operation: 'rollbackDeploy', takes: ['deploy'], confirm: 'always' },
    },
    texts: {
      create: 'Make the branch.',
      deploy: 'For rollback.',
      paths: 'For commit, discard.',
      message: 'For commit.',
    },
  },
  {
    name: 'change_backups',
    title: 'Make, verify, restore, delete backups and checkpoints',
    description: 'A checkpoint is quick and on the same disk. restore_* and delete_* answer a plan; then call confirm.',
    selector: 'action',
    acts: {
      create_backup: { operation: 'createBackup', takes: ['note'] },
      verify_backup: { operation: 'verifyBackup' },
      restore_backup: {
        operation: 'restoreBackup',
        takes: ['parts'],
        confirm: 'always',
        typed: { in: 'body', of: 'project' },
      },
      delete_backup: { operation: 'deleteBackup', confirm: 'always' },
      create_checkpoint: { operation: 'createCheckpoint', takes: ['name'] },
      restore_checkpoint: {
        operation: 'restoreCheckpoint',
        confirm: 'always',
        typed: { in: 'body', of: 'project' },
      },
      delete_checkpoint: { operation: 'deleteCheckpoint', confirm: 'always' },
    },
    texts: { note: 'For create_backup.', name: 'For create_checkpoint.', parts: 'For restore_backup.' },
  },
  {
    name: 'read_files',
    title: 'Read files of a project',
    description: 'A folder, or a text file.',
    selector: 'what',
    acts: {
      folder: { operation: 'listFiles', takes: ['path', ...page] },
      file: { operation: 'readFile', takes: ['path'] },
    },
    texts: { path: 'In the project: src/app.ts.' },
  },
  {
    name: 'change_files',
    title: 'Write and delete files of a project',
    description:
      'create refuses what is there; replace takes the etag that read_files told. delete answers a plan; then call confirm.',
    selector: 'action',
    acts: {
      create: { operation: 'writeFile', takes: ['path'], body: { argument: 'content' } },
      replace: { operation: 'writeFile', takes: ['path'], body: { argument: 'content' }, ifMatch: 'etag' },
      delete: { operation: 'deleteFile', takes: ['path'], confirm: 'always' },
    },
    texts: { path: 'In the project.', content: 'The whole text.', etag: 'For replace.' },
  },
]
