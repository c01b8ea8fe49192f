/** How to recognise a program on the machine: written as data by the catalogue, carried out by an engine that runs host programs. */
export interface ToolchainQuery {
  /** `node`, `python`, `postgresql`. */
  readonly name: string
  /** File names of the program in a directory of PATH, first is the main one: `python3.12`, `python3`. */
  readonly programs: readonly string[]
  /** Further absolute places, `*` stands for one path segment: `/usr/lib/postgresql/*` + `/bin/postgres`. */
  readonly places: readonly string[]
  /** Arguments that make the program print its version and end. */
  readonly versionArgs: readonly string[]
  /** Regular expression source; the first group is the version. Matched over stdout, then stderr. */
  readonly versionPattern: string
}

/** One program that was found and started once. */
export interface Toolchain {
  readonly name: string
  readonly version: string
  /** Absolute path of the main program, as found (links are not resolved, so that virtual environments stay what they are). */
  readonly program: string
  /** Directory of the program, for PATH of its workloads. */
  readonly directory: string
  readonly available: boolean
  /** Why not, and how to fix it, when `available` is false. */
  readonly reason: string | null
  /** `true` for a program that came with this installation. */
  readonly bundled: boolean
}
