import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { ProjectCreate } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { realFolder } from '../find-project.ts'
import { finishProject, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions, readEngine } from '../options.ts'
import { planText } from '../output/plan-text.ts'
import { isLocal } from '../service-url.ts'

interface CreateFlags extends WaitFlags {
  readonly template?: string
  readonly git?: string
  readonly branch?: string
  readonly path?: string
  readonly runAsOwner?: boolean
  readonly engine?: string
  readonly start?: boolean
  readonly dryRun?: boolean
}

export const define: Define = (command, context) => {
  command
    .argument('<name>', 'what it is called; its address is made from it')
    .option('-t, --template <name>', 'start from a template or an example: see "stq templates"')
    .option('-g, --git <url>', 'clone the source code')
    .option('-b, --branch <name>', 'with --git: this branch')
    .option('-p, --path <folder>', 'use a folder that exists, where it is')
    .option('--run-as-owner', 'with --path: run as the person who owns the folder')
    .option('-e, --engine <name>', 'what it runs on: native or docker (default: what the service prefers)')
    .option('--no-start', 'create it and leave it stopped')
    .option('--dry-run', 'check everything, show the steps and do nothing')
  addWaitOptions(command).action((name: string, flags: CreateFlags) => run(context(), name, flags))
}

async function run(context: Context, name: string, flags: CreateFlags): Promise<void> {
  const client = await context.client()
  const body = await bodyOf(context, name, flags, client.baseUrl)
  if (flags.dryRun === true) {
    const plan = await client.plan('createProject', { body }, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  const created = await client.call('createProject', { body }, { signal: context.signal, idempotencyKey: randomUUID() })
  context.note(`Project ${created.slug} (${created.id})`)
  await finishProject(context, created, flags)
  const project = await client.call('getProject', { params: { id: created.id } }, { signal: context.signal })
  context.result(project, () => project.url)
}

async function bodyOf(context: Context, name: string, flags: CreateFlags, url: string): Promise<ProjectCreate> {
  const sources = [flags.template, flags.git, flags.path].filter((source) => source !== undefined)
  if (sources.length > 1) throw usageError('Only one of --template, --git and --path can be the source.')
  if (flags.branch !== undefined && flags.git === undefined) throw usageError('--branch goes with --git.')
  if (flags.runAsOwner === true && flags.path === undefined) throw usageError('--run-as-owner goes with --path.')
  return {
    name,
    ...(flags.template === undefined ? {} : { template: flags.template }),
    ...(flags.git === undefined
      ? {}
      : { git: { url: flags.git, ...(flags.branch === undefined ? {} : { branch: flags.branch }) } }),
    ...(flags.path === undefined ? {} : { path: await folderOf(context, flags.path, url) }),
    ...(flags.runAsOwner === true ? { runAs: 'owner' as const } : {}),
    ...(flags.engine === undefined ? {} : { engine: readEngine(flags.engine) }),
    ...(flags.start === false ? { start: false } : {}),
  }
}

/** A path means a folder of the service's machine: resolved when that is this one, else taken as it was typed. */
async function folderOf(context: Context, path: string, url: string): Promise<string> {
  return isLocal(url) ? realFolder(resolve(context.world.cwd, path)) : path
}
