import { atLeast, atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { root } from './command.ts'
import { measureActs } from './copies-acts.ts'
import { openWorld, type Sizes, type Used } from './copies-world.ts'
import { median, medianRatio } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'What backups and their copies cost the control plane',
  about: `Memory of the control plane, as \`npm start\` starts it, above what it held before: at most, by the kernel’s high-water mark, and four seconds after the end. Before
each line it is started anew. The project has files that cannot be compressed and a PostgreSQL; its backup goes to three places of this machine and comes
back. What a larger one costs more is beside it. With \`--against <folder>\` another checkout does the same in rounds that alternate. Medians.`,
  async measure({ quick, against }) {
    const rounds = quick || against === undefined ? 1 : 3
    const sizes: readonly Sizes[] = quick ? [small] : against === undefined ? [small, large] : [middle]
    const checkouts = [root, ...(against === undefined ? [] : [against])]
    const found: Found[] = checkouts.flatMap((_, side) => sizes.map((size) => ({ side, size, rounds: [] })))
    for (const size of sizes) {
      for (let round = 0; round < rounds; round += 1) {
        for (const [side, checkout] of checkouts.entries()) {
          await using world = await openWorld(checkout, size)
          found.find((one) => one.side === side && one.size === size)!.rounds.push(await measureActs(world))
        }
      }
    }
    return { tables: [tableOf(found)], bars: barsOf(found) }
  },
}

const small: Sizes = { fileBytes: 64 << 20, rows: 50_000 }
const middle: Sizes = { fileBytes: 384 << 20, rows: 200_000 }
const large: Sizes = { fileBytes: 1 << 30, rows: 500_000 }

/** One checkout with one size. */
interface Found {
  readonly side: number
  readonly size: Sizes
  readonly rounds: ReadonlyMap<string, Used>[]
}

function tableOf(found: readonly Found[]): Table {
  const acts = [...found[0]!.rounds[0]!.keys()]
  const heads = found.flatMap(({ side, size }) => {
    const of = `${size.fileBytes >> 20} MB${side === 0 ? '' : ', other'}`
    return [`${of}: time`, 'most', 'after']
  })
  const rows = acts.map((act) => [
    act,
    ...found.flatMap(({ rounds }) => {
      const of = (value: (used: Used) => number) => median(rounds.map((round) => value(round.get(act)!)))
      return [
        `${(of(({ milliseconds }) => milliseconds) / 1000).toFixed(2)} s`,
        `+${Math.round(of(({ peak }) => peak))} MB`,
        `+${Math.round(of(({ left }) => left))} MB`,
      ]
    }),
  ])
  return [['', ...heads], ...rows]
}

function barsOf(found: readonly Found[]): readonly Bar[] {
  const [ours, other] = [found.filter(({ side }) => side === 0), found.find(({ side }) => side === 1)]
  const acts = [...ours[0]!.rounds[0]!.keys()]
  const memory = acts.map((act) => {
    const most = Math.max(...ours.map(({ rounds }) => median(rounds.map((round) => round.get(act)!.peak))))
    return atMost(`${act}: memory of the control plane`, most, 60, 'MB')
  })
  if (other === undefined) return memory
  const times = ({ rounds }: Found, act: string) => rounds.map((round) => round.get(act)!.milliseconds)
  return [
    ...memory,
    ...acts.map((act) =>
      atLeast(`${act}: speed against the other`, medianRatio(times(other, act), times(ours[0]!, act)), 0.9),
    ),
  ]
}
