import type { Release } from '@stackquay/contract'
import type { Observed } from '@stackquay/engine-api'
import type { PastDeploy } from './deploys.ts'
import type { Resolved } from './resolve-project.ts'

type Programs = Pick<Resolved, 'workloads' | 'kinds' | 'versions'>

/**
 * Files below the source folder that decide what was installed for the programs that run, such as lock files. `observed`: what was seen of
 * the project.
 */
export function installInputs(
  root: string,
  { workloads, kinds }: Omit<Programs, 'versions'>,
  observed: readonly Observed[],
): readonly string[] {
  const inputs = programsThatRun({ workloads, kinds }, observed).flatMap(({ setup }) =>
    setup.flatMap((job) => job.inputs),
  )
  const below = inputs.filter((path) => path.startsWith(`${root}/`)).map((path) => path.slice(root.length + 1))
  return [...new Set(below)].sort()
}

/** What a commit runs with, of what was seen. What does not run has no part in it. */
export function releaseOf(
  { generation, installedFrom }: Pick<Release, 'generation' | 'installedFrom'>,
  resolved: Programs,
  observed: readonly Observed[],
): Release {
  const images = observed.flatMap(({ ref, state, image }) =>
    state === 'running' && image !== undefined ? [[ref.workload, image.id] as const] : [],
  )
  const runtimes = programsThatRun(resolved, observed).length === 0 ? {} : resolved.versions
  return { generation, installedFrom, images: Object.fromEntries(images), runtimes }
}

function programsThatRun({ workloads, kinds }: Omit<Programs, 'versions'>, observed: readonly Observed[]) {
  const isUp = (name: string) => observed.some(({ ref, state }) => ref.workload === name && state === 'running')
  return workloads.filter(({ ref: { workload } }) => {
    const kind = kinds[workload]
    return (kind === 'runtime' || kind === 'worker') && isUp(workload)
  })
}

/** The newest deploy that was well with a commit, and of which it is known with what. `deploys`: newest first. */
export function releaseOfCommit<Deploy extends PastDeploy & { readonly release: Release | null }>(
  deploys: readonly Deploy[],
  commit: string,
): (Deploy & { readonly release: Release }) | null {
  const found = deploys.find((one) => one.commit === commit && one.state === 'succeeded' && one.release !== null)
  return found === undefined ? null : { ...found, release: found.release! }
}

/**
 * What is not as it was with an earlier release, a sentence each: a way back brings files, and neither builds of images, versions of
 * programs nor the specification. What only one of the two has of images and runtimes is told by the specification.
 */
export function releaseDifferences(then: Release, now: Release): readonly string[] {
  const generation =
    then.generation === now.generation
      ? []
      : [`The specification is of generation ${now.generation}, not ${then.generation}.`]
  const images = changed(then.images, now.images).map(
    ([workload, was, is]) => `${workload} runs from the build ${shortBuild(is)}, not ${shortBuild(was)}.`,
  )
  const runtimes = changed(then.runtimes, now.runtimes).map(([runtime, was, is]) => `${runtime} is ${is}, not ${was}.`)
  const names = [...new Set([...Object.keys(then.installedFrom), ...Object.keys(now.installedFrom)])].sort()
  const files = names.flatMap((name) => {
    const [was, is] = [ownOf(then.installedFrom, name), ownOf(now.installedFrom, name)]
    if (was === is) return []
    if (was === undefined) return [`${name} was not there.`]
    return [is === undefined ? `${name} is not there any more.` : `${name} has another content.`]
  })
  return [...generation, ...images, ...runtimes, ...files]
}

function changed(then: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>) {
  return Object.entries(then).flatMap(([name, was]) => {
    const is = ownOf(now, name)
    return is === undefined || is === was ? [] : [[name, was, is] as const]
  })
}

/** A file of a project may be called `constructor`. */
const ownOf = (all: Readonly<Record<string, string>>, name: string) =>
  Object.hasOwn(all, name) ? all[name] : undefined

const shortBuild = (id: string) => id.replace(/^sha256:/, '').slice(0, 12)
