import type { Command } from 'commander'
import type { Context } from '../context.ts'

/** Adds arguments, options, help and the action to a command. `context` is ready when the action runs. */
export type Define = (command: Command, context: () => Context) => void

export interface CommandEntry {
  readonly name: string
  readonly args: string
  readonly summary: string
  readonly group: 'Projects' | 'Run' | 'Inside a project' | 'Network' | 'The service'
  /** Loaded when the command is called, so that none of them slows the others down. */
  readonly load: () => Promise<{ readonly define: Define }>
}

export const commandEntries: readonly CommandEntry[] = [
  entry(
    'Projects',
    'up',
    '',
    'bring the project of this folder up, as its stackquay.yml says',
    () => import('./up.ts'),
  ),
  entry('Projects', 'plan', '[file]', 'show what applying a stackquay.yml would do', () => import('./plan.ts')),
  entry('Projects', 'apply', '[file]', 'change a project to what its stackquay.yml says', () => import('./apply.ts')),
  entry(
    'Projects',
    'manifest',
    '',
    'print a project as a stackquay.yml, or the schema of the file',
    () => import('./manifest.ts'),
  ),
  entry(
    'Projects',
    'create',
    '<name>',
    'create a project from a template, a git URL or a folder',
    () => import('./create.ts'),
  ),
  entry('Projects', 'list', '', 'list projects', () => import('./list.ts')),
  entry('Projects', 'show', '[project]', 'show a project: state, URLs, workloads', () => import('./show.ts')),
  entry(
    'Projects',
    'open',
    '[project]',
    'print the project’s URL and open it in the browser',
    () => import('./open.ts'),
  ),
  entry('Projects', 'delete', '<project>', 'delete a project; its source files stay', () => import('./delete.ts')),
  entry('Run', 'start', '[project]', 'start a project, or one of its workloads', () => import('./start.ts')),
  entry('Run', 'stop', '[project]', 'stop it; data and settings stay', () => import('./stop.ts')),
  entry('Run', 'restart', '[project]', 'restart it', () => import('./restart.ts')),
  entry(
    'Run',
    'images',
    '[project] [workload]',
    'list builds of its images, or go back to one',
    () => import('./images.ts'),
  ),
  entry('Run', 'logs', '[project]', 'read or follow its logs', () => import('./logs.ts')),
  entry(
    'Run',
    'run',
    '[project] [action]',
    'run an action of a project, or list what can be run',
    () => import('./run.ts'),
  ),
  entry('Run', 'test', '[project] [suite]', 'run the tests of a project', () => import('./test.ts')),
  entry('Run', 'runs', '', 'list, follow and cancel runs of actions and tests', () => import('./runs.ts')),
  entry(
    'Run',
    'exec',
    '[project] -- <program>',
    'run a program in the environment of a project',
    () => import('./exec.ts'),
  ),
  entry('Run', 'shell', '[project]', 'open a terminal in a project, or come back to one', () => import('./shell.ts')),
  entry('Inside a project', 'env', '', 'list, read, set and remove environment variables', () => import('./env.ts')),
  entry('Inside a project', 'runtime', '', 'list runtimes and change their settings', () => import('./runtime.ts')),
  entry(
    'Inside a project',
    'service',
    '',
    'add, change and switch off services, and read their credentials',
    () => import('./service.ts'),
  ),
  entry(
    'Inside a project',
    'db',
    '',
    'list, create, change and drop databases, and read their credentials',
    () => import('./db.ts'),
  ),
  entry('Inside a project', 'limits', '', 'show and change what its workloads may use', () => import('./limits.ts')),
  entry('Inside a project', 'mail', '', 'read the mails that a project sent', () => import('./mail.ts')),
  entry(
    'Inside a project',
    'data',
    '',
    'list and delete data that is kept of services that are off',
    () => import('./data.ts'),
  ),
  entry('Network', 'domain', '', 'list, add and remove host names of a project', () => import('./domain.ts')),
  entry('Network', 'rules', '', 'show and change what stands in front of a project', () => import('./rules.ts')),
  entry('Network', 'share', '[project]', 'show a project to others for a while', () => import('./share.ts')),
  entry('Network', 'traffic', '[project]', 'show how many requests a project has', () => import('./traffic.ts')),
  entry('Network', 'access-log', '[project]', 'list requests to a project', () => import('./access-log.ts')),
  entry('The service', 'login', '', 'log in with an API token', () => import('./login.ts')),
  entry('The service', 'logout', '', 'forget the token', () => import('./logout.ts')),
  entry('The service', 'whoami', '', 'show who you are to the service', () => import('./whoami.ts')),
  entry('The service', 'runtimes', '', 'list runtimes and the versions offered here', () => import('./runtimes.ts')),
  entry(
    'The service',
    'services',
    '',
    'list services and databases and the versions offered here',
    () => import('./services.ts'),
  ),
  entry(
    'The service',
    'templates',
    '',
    'list templates and examples to create projects from',
    () => import('./templates.ts'),
  ),
  entry('The service', 'operations', '', 'list, watch and cancel operations', () => import('./operations.ts')),
  entry('The service', 'events', '', 'follow what happens', () => import('./events.ts')),
  entry('The service', 'webhooks', '', 'send events to other programs', () => import('./webhooks.ts')),
  entry('The service', 'audit', '', 'read, export and verify the audit log', () => import('./audit.ts')),
  entry('The service', 'diagnostics', '', 'check the service’s set-up', () => import('./diagnostics.ts')),
  entry('The service', 'api', '<method> <path>', 'send a request to the REST API', () => import('./api.ts')),
  entry('The service', 'help', '[topic...]', 'help for a command or a topic', () => import('./help.ts')),
]

function entry(
  group: CommandEntry['group'],
  name: string,
  args: string,
  summary: string,
  load: CommandEntry['load'],
): CommandEntry {
  return { name, args, summary, group, load }
}
