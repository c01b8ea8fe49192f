import type { Change, Step } from './change.ts'
import type { Job, Workload, WorkloadRef } from './workload.ts'

/**
 * The steps of a change in their usual order, for `Engine.plan`; an engine that needs others replaces them.
 * Pure: a change gives the same steps every time, and nothing is touched.
 */
export function stepsOf(change: Change): readonly Step[] {
  switch (change.type) {
    case 'stop':
      return [stopStep(change)]
    case 'remove':
      return [
        stopStep(change),
        { id: `remove:${change.ref.workload}`, title: `Remove ${change.title}`, do: 'remove', ref: change.ref },
      ]
    case 'start':
      return startSteps(change)
    case 'replace': {
      const { ref, title, stop } = change.workload
      const steps = startSteps(change)
      const pulls = steps.filter((step) => step.do === 'pull')
      // The old run goes on until everything is there that takes its place.
      return [...pulls, stopStep({ ref, title, stop }), ...steps.slice(pulls.length)]
    }
    case 'job':
      return [
        ...pullSteps(change.ref, change.job),
        {
          id: `job:${change.ref.workload}:${change.job.name}`,
          title: change.job.title,
          do: 'job',
          ref: change.ref,
          job: change.job,
          force: change.force,
        },
      ]
    case 'deleteData':
      return [
        {
          id: `deleteData:${change.data}`,
          title: `Delete ${change.title ?? `the data "${change.data}"`}`,
          do: 'deleteData',
          project: change.project,
          data: change.data,
        },
      ]
    case 'strays':
      return [
        {
          id: 'strays',
          title: change.commands
            ? 'End every other process of the project, terminals and runs too'
            : 'End every other process of the project',
          do: 'strays',
          project: change.project,
          commands: change.commands,
        },
      ]
    default:
      return change satisfies never
  }
}

function stopStep({ ref, title, stop }: Pick<Workload, 'ref' | 'title' | 'stop'>): Step {
  return { id: `stop:${ref.workload}`, title: `Stop ${title}`, do: 'stop', ref, stop }
}

/** The steps of a start: image, jobs, the workload itself. */
export function startSteps({
  workload,
  newerImage = false,
}: Pick<Change & { type: 'start' }, 'workload' | 'newerImage'>): Step[] {
  const { ref, title, setup } = workload
  const jobs = setup.map(
    (job): Step => ({ id: `job:${ref.workload}:${job.name}`, title: job.title, do: 'job', ref, job, force: false }),
  )
  return [
    ...pullSteps(ref, workload.run, newerImage),
    ...jobs,
    {
      id: `start:${ref.workload}`,
      title: `Start ${title}`,
      do: 'start',
      workload,
      ...(newerImage ? { newerImage } : {}),
    },
    { id: `ready:${ref.workload}`, title: `Wait until ${title} is ready`, do: 'ready', workload },
  ]
}

function pullSteps(ref: WorkloadRef, { container }: Pick<Job, 'container'>, newer = false): Step[] {
  if (container === undefined) return []
  const { image, build } = container
  return [
    {
      id: `pull:${ref.workload}`,
      title: `Get the image ${build?.base ?? image}`,
      do: 'pull',
      ref,
      image,
      build,
      newer,
    },
  ]
}
