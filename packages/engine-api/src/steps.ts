import type { Change, Step } from './change.ts'
import type { Workload } from './workload.ts'

/**
 * The steps of a change in their usual order, for `Engine.plan`; an engine that needs others (pulling an image) adds them.
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
      return startSteps(change.workload)
    case 'replace': {
      const { ref, title, stop } = change.workload
      return [stopStep({ ref, title, stop }), ...startSteps(change.workload)]
    }
    case 'job':
      return [
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
          title: `Delete the data "${change.data}"`,
          do: 'deleteData',
          project: change.project,
          data: change.data,
        },
      ]
    default:
      return change satisfies never
  }
}

function stopStep({ ref, title, stop }: Pick<Workload, 'ref' | 'title' | 'stop'>): Step {
  return { id: `stop:${ref.workload}`, title: `Stop ${title}`, do: 'stop', ref, stop }
}

function startSteps(workload: Workload): Step[] {
  const { ref, title, setup } = workload
  const jobs = setup.map(
    (job): Step => ({ id: `job:${ref.workload}:${job.name}`, title: job.title, do: 'job', ref, job, force: false }),
  )
  return [
    ...jobs,
    { id: `start:${ref.workload}`, title: `Start ${title}`, do: 'start', workload },
    { id: `ready:${ref.workload}`, title: `Wait until ${title} is ready`, do: 'ready', workload },
  ]
}
